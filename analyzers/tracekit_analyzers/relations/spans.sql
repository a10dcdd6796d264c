-- Makes `log.spans`: one row is a file and the place of its first line in the reading order.
create or replace table log.spans as select file, min(rowid) as first_n from lines group by file order by first_n;
