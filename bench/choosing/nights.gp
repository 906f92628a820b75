# Bytes and false positive rate night by night.  Variables: p, the promise in
# percent; out, the folder.

set terminal svg size 720,520 dynamic background "white" font "sans-serif,12"
set output out . "/nights.svg"
set datafile separator comma
set xdata time
set timefmt "%Y-%m-%d"
set format x "%b\n%d"
set grid ytics
set xtics nomirror
set ytics nomirror
set lmargin 9
set multiplot layout 2,1
file = out . "/nights.csv"

set key outside top center horizontal reverse Left
set ylabel "bytes per user"
set yrange [0:*]
plot file using 1:2 skip 1 with lines linewidth 2 title "rebuilt every day", \
	file using 1:3 skip 1 with lines linewidth 2 title "window"

set key off
set ylabel "false positives, %"
set yrange [0:p * 1.3]
plot file using 1:4 skip 1 with lines title "rebuilt: false positives", \
	file using 1:5 skip 1 with lines title "window: false positives", \
	p with lines dashtype 2 linecolor "black" title "target rate"
