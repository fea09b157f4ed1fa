"""Sources (load), partitions (who owns which rows), shards (row tables)."""
