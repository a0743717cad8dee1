# Numbers, strings, functions, a child and a pipe.
collatz() { n=$1; s=0; while [ "$n" -ne 1 ]; do if [ $((n % 2)) -eq 0 ]; then n=$((n / 2)); else n=$((3 * n + 1)); fi; s=$((s + 1)); done; }
longest=0
for i in 1 3 7 9 27 54 97 171 231 313; do collatz $i; [ $s -gt $longest ] && longest=$s && who=$i; done
echo "$who $longest"
x=abc; for i in 1 2 3 4 5 6 7 8; do x=$x$x; done; echo ${#x}
(cd / && pwd) | while read -r line; do echo "child $line"; done
case $x in abc*abc) echo yes ;; *) echo no ;; esac
