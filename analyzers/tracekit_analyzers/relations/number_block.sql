-- Gives the lines of a block, which are the last ones of `lines`, the name and the line numbers of the log that it was cut from.
update lines set file = $name, source = json_object('file', $name, 'line', rowid - $first_n + $first_line + 1)
where rowid >= $first_n;
