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
	set title "Time of one call, by the number of candidates in it"
	set xlabel "candidates"
	set ylabel "microseconds"
	file = results . "curve.csv"
	plot file using 1:5 skip 1 with linespoints title "NOT EXISTS, hashed", \
		file using 1:4 skip 1 with linespoints title "intarray, int4", \
		file using 1:2 skip 1 with linespoints title "unnest alone", \
		file using 1:3 skip 1 with linespoints linewidth 2 title "bloomexp"
}

if (has("sizes.csv")) {
	set output results . "bytes.svg"
	set title "Bytes of a filter against the items in it, 1%"
	set xlabel "items"
	set ylabel "bytes"
	unset logscale
	set xrange [0:5000]
	file = results . "sizes.csv"
	plot file using ($1 == 0.01 ? $2 : NaN):5 skip 1 with lines title "array of bigint", \
		file using ($1 == 0.01 ? $2 : NaN):3 skip 1 with linespoints linewidth 2 title "filter", \
		file using ($1 == 0.01 ? $2 : NaN):4 skip 1 with lines title "optimum"

	set output results . "rates.svg"
	set title "Measured rate of false positives as a share of the target rate"
	set logscale x
	set xrange [0.00005:0.2]
	set yrange [0:1.2]
	set xlabel "target rate"
	set ylabel "measured / target"
	set key outside right center
	file = results . "rates.csv"
	plot for [n in "10000 1000 100 10 1"] file using ($2 == n ? $1 : NaN):($3 / $1) skip 1 with points \
		title n . (n == 1 ? " item" : " items"), 1 title "target" with lines dashtype 2 linecolor "black"

	set output results . "growth.svg"
	set multiplot layout 2,1
	set key inside top left reverse Left
	set title "A filter that grows one item at a time, 1%"
	unset logscale
	set xrange [0:10000]
	set autoscale y
	set xlabel ""
	set ylabel "bytes"
	set lmargin 10
	file = results . "growth.csv"
	plot file using 1:2 skip 1 with lines linewidth 2 title "filter", file using 1:3 skip 1 with lines title "optimum"
	unset title
	set key inside bottom right
	set xlabel "items"
	set ylabel "false positives, %"
	set yrange [0:1.2]
	plot file using 1:($4 * 100) skip 1 with lines linewidth 2 title "measured", \
		file using 1:($5 * 100) skip 1 with lines dashtype 2 linecolor "black" title "target"
	unset multiplot
}
