/* SQLite at work: schema, indices, bulk inserts in transactions, joins, aggregates, a recursive query, updates, deletes,
 * rollback, a failing statement, text functions; once in memory and once in a file given as the first argument.
 * Prints the results and a checksum over all rows; no pointers, times or versions. With a third argument, on threads
 * with connections of their own (sqlite_threads.c). */
#include "sqlite3.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sqlite_threads(const char *name, int rows);

static uint64_t checksum;
static long rows;

static int row(void *verbose, int columns, char **values, char **names) {
    (void)names;
    rows++;
    for (int i = 0; i < columns; i++) {
        const char *value = values[i] ? values[i] : "NULL";
        for (const char *c = value; *c; c++)
            checksum = (checksum ^ (unsigned char)*c) * UINT64_C(1099511628211);
        if (*(int *)verbose)
            printf("%s%s", i ? "|" : "", value);
    }
    if (*(int *)verbose)
        printf("\n");
    return 0;
}

static void run(sqlite3 *db, int verbose, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(db, sql, row, &verbose, &message) != SQLITE_OK) {
        printf("error: %s\n", message);
        sqlite3_free(message);
    }
}

static void insert(sqlite3 *db, int orders) {
    sqlite3_stmt *customer, *order;
    run(db, 0, "BEGIN");
    sqlite3_prepare_v2(db, "INSERT INTO customer VALUES (?1, 'customer ' || ?1, ?2)", -1, &customer, NULL);
    for (int i = 0; i < orders / 20; i++) {
        sqlite3_bind_int(customer, 1, i);
        sqlite3_bind_text(customer, 2, i % 3 ? "north" : "south", -1, SQLITE_STATIC);
        sqlite3_step(customer);
        sqlite3_reset(customer);
    }
    sqlite3_finalize(customer);
    sqlite3_prepare_v2(db, "INSERT INTO purchase(customer, amount, note) VALUES (?1, ?2, ?3)", -1, &order, NULL);
    uint32_t x = 1;
    for (int i = 0; i < orders; i++) {
        char note[64];
        x = x * 1664525u + 1013904223u;
        snprintf(note, sizeof note, "note %u of order %d", (x >> 8) % 1000, i);
        sqlite3_bind_int(order, 1, (int)((x >> 10) % (uint32_t)(orders / 20)));
        sqlite3_bind_double(order, 2, (double)((x >> 12) % 10000) / 4);
        sqlite3_bind_text(order, 3, note, -1, SQLITE_TRANSIENT);
        sqlite3_step(order);
        sqlite3_reset(order);
    }
    sqlite3_finalize(order);
    run(db, 0, "COMMIT");
}

static int work(const char *name, int orders) {
    sqlite3 *db;
    checksum = UINT64_C(14695981039346656037), rows = 0;
    if (sqlite3_open(name, &db) != SQLITE_OK) {
        fprintf(stderr, "cannot open %s: %s\n", name, sqlite3_errmsg(db));
        return 1;
    }
    run(db, 0, "PRAGMA synchronous = OFF");
    run(db, 0, "CREATE TABLE customer(id INTEGER PRIMARY KEY, name TEXT NOT NULL, region TEXT);"
               "CREATE TABLE purchase(id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customer, amount REAL, note TEXT);"
               "CREATE INDEX purchase_customer ON purchase(customer);");
    insert(db, orders);
    run(db, 0, "CREATE INDEX purchase_note ON purchase(note, amount)");
    run(db, 1, "SELECT region, count(*), sum(amount), max(length(note)) FROM purchase JOIN customer ON customer.id = customer "
               "GROUP BY region ORDER BY region");
    run(db, 0, "SELECT name, sum(amount) AS total FROM customer LEFT JOIN purchase ON customer.id = customer "
               "GROUP BY customer.id ORDER BY total DESC, name");
    run(db, 0, "SELECT upper(note), substr(note, 6, 3) FROM purchase WHERE note LIKE '%7%' AND amount BETWEEN 100 AND 900 ORDER BY note");
    run(db, 1, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT sum(i * i % 97) FROM n");
    run(db, 0, "BEGIN; DELETE FROM purchase WHERE customer % 2 = 0; ROLLBACK");
    run(db, 1, "SELECT count(*) FROM purchase");
    run(db, 0, "UPDATE purchase SET amount = amount + 1 WHERE customer % 3 = 0; DELETE FROM purchase WHERE customer % 5 = 0");
    run(db, 1, "SELECT count(*), total(amount), min(note), max(note) FROM purchase");
    run(db, 1, "INSERT INTO customer VALUES (0, NULL, NULL)");
    run(db, 1, "SELECT count(*) FROM no_such_table");
    run(db, 0, "VACUUM");
    run(db, 1, "PRAGMA integrity_check");
    printf("%ld rows, checksum %016llx\n", rows, (unsigned long long)checksum);
    return sqlite3_close(db) == SQLITE_OK ? 0 : 1;
}

int main(int argc, char **argv) {
    int orders = argc > 2 ? atoi(argv[2]) : 12000;
    /* VACUUM and journals make up names: the same in every run. */
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, 42, NULL);
    if (argc > 3)
        return sqlite_threads(argv[1], orders);
    int failed = work(":memory:", orders);
    if (argc > 1) {
        remove(argv[1]);
        failed |= work(argv[1], orders / 2);
        remove(argv[1]);
    }
    return failed;
}
