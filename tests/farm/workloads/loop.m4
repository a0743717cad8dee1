define(`for', `ifelse(eval($2 > $3), 1, `', `define(`$1', $2)$4`'for(`$1', incr($2), $3, `$4')')')dnl
for(`i', 1, 300, `i squared is eval(i * i)
')dnl
