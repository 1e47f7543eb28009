// Package find is what users ask of a list of experiments or of runs: "those with a
// validation accuracy over 0.9, a learning rate under 0.1 and the label x".
//
// A filter has two forms. Users type a line,
//
//	validation.accuracy > 0.9 and hp.lr < 0.1 and label = x
//
// which Parse reads; its errors say at which character they are. The other is
// the JSON of Determined's pages and their API, a tree of groups and fields,
// which ParseJSON reads and Filter.JSON writes. Both are the same Filter, and
// package query below alone knows how a Filter becomes SQL. A Table says which columns
// there are: Experiments and Runs have the same filters and other fields.
//
// column.go has the columns, filter.go the tree and its checks, lex.go and parse.go the line,
// json.go the JSON, sort.go the order of a list. The package is pure: the current time, on
// which "-7d" depends, is an argument.
package find
