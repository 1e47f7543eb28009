// Package expconf parses, merges, completes and validates the YAML configurations of
// experiments and tasks.
//
// There are two types with the same fields. A Raw is one document: every field may be absent,
// and Merge combines two documents (an experiment and its template, for example). A Config is a
// complete configuration: every field has a value. Complete makes a Config from a Raw.
//
//	Parse → Raw ─ Merge ─ Complete → Config ─ Validate ─ Refused ─ Unhonoured
//
// Parse checks the shape of a document (unknown fields, wrong types, fields of another
// searcher). Validate checks what depends on the merged whole (ranges, and fields that depend
// on each other). Both report every problem at once, with line and column. Refused and
// Unhonoured compare a valid Config with the capabilities of the cluster, so that the user
// learns of every field without effect.
//
// Each file is named like a noun of the format: searcher.go has the section searcher. A section
// is one struct type; the tags of a field are its name, default, bounds, the searchers or
// storages that have the field, and whether it is secret (tags.go). To add a field, add a line
// there; a check of several fields belongs into the section's method check. A type with a
// special syntax (Length, Devices) has a method decode; a type with a special merge rule has a
// method onto.
//
// These files walk the structs and read the tags:
//
//	decode.go    fills a struct from a tree of nodes with positions, which
//	             package document has read
//	union.go     which fields belong to the searcher or storage that is named,
//	             for the decoder, merge, rules and JSON
//	merge.go     lays one document over another
//	fill.go      sets what all documents leave open
//	rules.go     checks the values
//	redact.go    what of a configuration, and of its text, who sees
//
// The package is pure: no input or output, no clock, no randomness. The seed and the generated
// name of an experiment are arguments.
package expconf
