// Package find parses filters for lists of experiments, such as "validation accuracy over 0.9,
// learning rate under 0.1, and the label x".
//
// A filter has two forms. Users type a line,
//
//	validation.accuracy > 0.9 and hp.lr < 0.1 and label = x
//
// which Parse parses; its errors name the column of the mistake. Determined's pages and API use
// JSON, a tree of groups and fields, which ParseJSON parses and Filter.JSON formats. Both forms
// become the same Filter, and only master/store converts a Filter to SQL.
//
// column.go has the columns, filter.go the tree and its checks, lex.go and parse.go the line,
// json.go the JSON, sort.go the order of a list. The package is pure: the current time, on
// which "-7d" depends, is an argument.
package find
