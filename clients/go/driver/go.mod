// A module of its own, so that the reader has no dependency.
module bloomexp/driver

go 1.18
