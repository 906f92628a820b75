module bloomexp

go 1.18
