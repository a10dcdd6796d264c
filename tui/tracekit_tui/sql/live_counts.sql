-- One row is a status and how many steps have it.
SELECT status, count(*) AS steps FROM steps GROUP BY status ORDER BY status
