/* Four threads with a connection each to one file, which they take turns to write. Prints what does not depend on whose
 * turn came when. */
#include "sqlite3.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 4

static const char *name;
static int rows_each;

static void run(sqlite3 *db, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "%s: %s\n", sql, message);
        exit(1);
    }
}

static sqlite3 *opened(void) {
    sqlite3 *db;
    if (sqlite3_open(name, &db) != SQLITE_OK)
        exit(1);
    sqlite3_busy_timeout(db, 600000);
    run(db, "PRAGMA synchronous = OFF");
    return db;
}

static void *work(void *argument) {
    int self = (int)(long)argument;
    sqlite3 *db = opened();
    sqlite3_stmt *insert;
    for (int round = 0; round < 4; round++) {
        run(db, "BEGIN IMMEDIATE");
        if (sqlite3_prepare_v2(db, "INSERT INTO entry(thread, value) VALUES (?1, ?2)", -1, &insert, NULL) != SQLITE_OK)
            exit(1);
        for (int i = 0; i < rows_each; i++) {
            sqlite3_bind_int(insert, 1, self);
            sqlite3_bind_int(insert, 2, (self + 1) * i % 101);
            if (sqlite3_step(insert) != SQLITE_DONE)
                exit(1);
            sqlite3_reset(insert);
        }
        sqlite3_finalize(insert);
        run(db, "COMMIT");
    }
    sqlite3_close(db);
    return NULL;
}

static int row(void *unused, int columns, char **values, char **names) {
    (void)unused, (void)names;
    for (int i = 0; i < columns; i++)
        printf("%s%s", i ? "|" : "", values[i]);
    printf("\n");
    return 0;
}

int sqlite_threads(const char *file, int rows) {
    pthread_t threads[THREADS];
    name = file, rows_each = rows / (4 * THREADS);
    remove(name);
    sqlite3 *db = opened();
    run(db, "CREATE TABLE entry(id INTEGER PRIMARY KEY, thread INTEGER, value INTEGER);"
            "CREATE INDEX entry_value ON entry(value)");
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i) != 0)
            return 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    int failed = sqlite3_exec(db, "SELECT thread, count(*), sum(value) FROM entry GROUP BY thread ORDER BY thread;"
                                  "PRAGMA integrity_check", row, NULL, NULL) != SQLITE_OK;
    sqlite3_close(db);
    remove(name);
    return failed;
}
