#!/bin/bash
# CPU time and peak memory of adding documents, against clustering all of them anew.
# Usage: add.sh DOCSPHERE CORPUS.jsonl N_ALL N_NEW K; writes times.csv. Needs GNU time.
set -e
docsphere=$1 corpus=$2 n_all=$3 n_new=$4 k=$5
timed() { name=$1; shift; /usr/bin/time -f "$name,%U,%S,%e,%M" -a -o times.csv "$@"; }
echo "what,user_s,system_s,wall_s,peak_kB" > times.csv
head -n "$n_all" "$corpus" > all.jsonl
head -n $((n_all - n_new)) all.jsonl > base.jsonl
tail -n "$n_new" all.jsonl > new.jsonl
timed "cluster base" "$docsphere" cluster base.jsonl -k "$k" -q -o grown --threads 2
cp -r grown frozen
timed "cluster all anew" "$docsphere" cluster all.jsonl -k "$k" -q -o whole --threads 2
timed "add" "$docsphere" add grown new.jsonl -q --threads 2
timed "add --freeze" "$docsphere" add frozen new.jsonl -q --freeze --threads 2
timed "verify" "$docsphere" verify grown
