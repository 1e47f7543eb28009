// Package expconf turns the YAML that users write about an experiment into
// the configuration that the rest of the platform acts on.
//
// Two types with the same fields carry the two halves of that work. A Raw is
// what one document says: every field may be absent, and two documents (an
// experiment and the template under it, say) combine with Merge. A Config is
// what an experiment runs with: every field has a value. Complete makes the
// second from the first; after it, "what if this was never set" is a question
// nobody can ask.
//
//	Parse → Raw ─ Merge ─ Complete → Config ─ Validate ─ Refused ─ Unhonoured
//
// Parse answers for the shape of a document (unknown fields, wrong types,
// fields of another searcher), Validate for what only makes sense once
// everything is merged (ranges, and fields that depend on each other). Both
// report every problem at once, with line and column. Refused and Unhonoured
// compare a valid Config with what the running master can do, so that nothing
// a person wrote is dropped in silence.
//
// The files follow the nouns of the format: what belongs to searcher is in
// searcher.go. A section is one struct type, whose tags say of each field its
// name, default, bounds, the searchers or storages that have it, and whether it
// is secret (tags.go). To add a field is to add a line there; a check that
// concerns several fields goes into the section's method check. A type with a
// spelling of its own (Length, Devices) has a method decode, and one with a
// merge rule of its own a method onto.
//
// Small walkers read the tags:
//
//	decode.go    fills a struct from a tree of nodes with positions (node.go;
//	             yaml.go and json.go build it)
//	union.go     which fields belong to the searcher or storage that is named,
//	             for the decoder, merge, rules and JSON
//	merge.go     lays one document over another
//	fill.go      sets what all documents leave open
//	rules.go     checks the values
//	redact.go    hides secrets
//
// The package is pure: no input or output, no clock, no randomness. The seed
// and the generated name of an experiment are arguments.
package expconf
