# The plots, from the CSV files of a run.  Each is left out if its part was.

set terminal svg size 720,450 dynamic background "white" font "sans-serif,13"
set datafile separator comma
set key top left reverse Left
set grid
set logscale xy
set format "%h"
results = "bench-results.tmp/"
has(name) = int(system("[ -s " . results . name . " ] && [ $(wc -l <" . results . name . ") -gt 1 ] && echo 1 || echo 0"))

if (has("curve.csv")) {
	set output results . "candidates.svg"
	set title "One call against the number of candidates in it"
	set xlabel "candidates"
	set ylabel "microseconds"
	file = results . "curve.csv"
	plot file using 1:5 skip 1 with linespoints title "NOT EXISTS, hashed", \
		file using 1:4 skip 1 with linespoints title "intarray, int4", \
		file using 1:2 skip 1 with linespoints title "unnest alone", \
		file using 1:3 skip 1 with linespoints linewidth 2 title "candidates - filter"
}

if (has("sizes.csv")) {
	set output results . "bytes.svg"
	set title "Bytes of a filter against the items in it, 1%"
	set xlabel "items"
	set ylabel "bytes"
	file = results . "sizes.csv"
	plot file using ($1 == 0.01 ? $2 : NaN):5 skip 1 with lines title "int8[]", \
		file using ($1 == 0.01 ? $2 : NaN):3 skip 1 with linespoints linewidth 2 title "filter", \
		file using ($1 == 0.01 ? $2 : NaN):4 skip 1 with lines title "optimum"

	set output results . "rates.svg"
	set title "False positive rate: measured against promised"
	set xrange [0.00005:0.2]
	set xlabel "promised"
	set ylabel "measured"
	file = results . "rates.csv"
	plot for [n in "1 10 100 1000 10000"] file using ($2 == n ? $1 : NaN):3 skip 1 with points title n . " items", \
		x title "the promise" with lines

	set output results . "growth.svg"
	set autoscale x
	set title "A filter that grows one item at a time, 1%"
	set xlabel "items"
	set ylabel "bytes"
	set y2label "false positive rate"
	set y2range [0:0.012]
	set y2tics
	set ytics nomirror
	set key bottom right
	file = results . "growth.csv"
	plot file using 1:2 skip 1 with lines linewidth 2 title "bytes", \
		file using 1:3 skip 1 with lines title "optimum", \
		file using 1:4 skip 1 axes x1y2 with linespoints title "rate, measured (right)", \
		file using 1:5 skip 1 axes x1y2 with lines title "rate, promised (right)"
}
