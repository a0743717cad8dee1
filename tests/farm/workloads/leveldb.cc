// Writes, reads and scans a database of 3,000 keys.
#include <cstdio>
#include <string>
#include "leveldb/db.h"

int main() {
    leveldb::Options options;
    options.create_if_missing = true;
    leveldb::DB* db;
    if (!leveldb::DB::Open(options, "db", &db).ok()) return 1;
    for (int i = 0; i < 3000; i++) {
        std::string key = "key" + std::to_string(i * 7919 % 10007);
        if (!db->Put(leveldb::WriteOptions(), key, std::string(i % 100, 'v')).ok()) return 1;
    }
    unsigned long bytes = 0, found = 0;
    std::string value;
    for (int i = 0; i < 3000; i++) {
        found += db->Get(leveldb::ReadOptions(), "key" + std::to_string(i), &value).ok();
    }
    leveldb::Iterator* it = db->NewIterator(leveldb::ReadOptions());
    for (it->SeekToFirst(); it->Valid(); it->Next()) bytes += it->value().size();
    delete it;
    delete db;
    std::printf("%lu found, %lu bytes\n", found, bytes);
}
