// Package expconf turns the YAML that users write about an experiment into
// the configuration that the rest of the platform acts on.
//
// Two types carry the two halves of that work. A Raw is what one document
// says: every field may be absent, and two documents (an experiment and the
// template under it, say) combine with Merge. A Config is what an experiment
// runs with: every field has a value. Complete makes the second from the
// first; after it, "what if this was never set" is a question nobody can ask.
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
// searcher.go, from its raw form to its checks. Underneath lie a small tree of
// nodes with positions (node.go; yaml.go and json.go build it), a decoder that
// walks it along the struct tags (decode.go) and the merge rules (merge.go).
//
// The package is pure: no input or output, no clock, no randomness. The seed
// and the generated name of an experiment are arguments.
package expconf
