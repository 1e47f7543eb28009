// Package find is what users ask of a list of experiments: "those with a
// validation accuracy over 0.9, a learning rate under 0.1 and the label x".
//
// A question has two spellings. The one that users type is a line,
//
//	validation.accuracy > 0.9 and hp.lr < 0.1 and label = x
//
// which Parse reads; its errors say at which character they are. The other is
// the JSON of Determined's pages and their API, a tree of groups and fields,
// which ParseJSON reads and Filter.JSON writes. Both are the same Filter, and
// master/store alone knows how a Filter becomes SQL.
//
// The files: column.go has what can be asked about, filter.go the tree and its
// checks, lex.go and parse.go the line, json.go the JSON, sort.go the order of a
// list. The package is pure: the time that "-7d" counts from is an argument.
package find
