// Package jsontext is pure: it reads JSON texts of programs without decoding what is only stored. The files, in the order in which one
// reads them:
//
//	token.go      Token, the next token of a text that is valid
//	parser.go     Parser, which checks a text while it reads the parts that somebody wants
//	storable.go   what PostgreSQL stores as jsonb; TestStorableJSON of package database compares this with PostgreSQL
//	decimals.go   how long the numbers of a document become when PostgreSQL writes them
//	decode.go     whole values, and whether two texts have the same value
//
// encoding/json and go-json-experiment's jsontext are not used for what a master reads most: docs/rfd/0012-json.md has the figures.
package jsontext
