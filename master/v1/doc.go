// Package v1 is the wire: the request and response types of /api/v1 and the
// codec that reads and writes them by the rules that clients of Determined
// 0.38.1 rely on.
//
// The types follow that interface's field names; a file holds one noun. Answers
// hold every field, set or not, because clients index fields without asking:
// messages, times and numbers that may be unknown are pointers and null where they
// are not set, a Struct is then {} or, with the option null in its tag, null, and
// everything else is a value. Only the fields of requests, alternatives of which one
// is set, and what each line of a log would repeat are left out where they are not
// set (omitempty).
//
// encoding/json cannot serve these rules (int64 as decimal strings, empty lists
// instead of null, input in camelCase or snake_case, null for "not given"), so
// Marshal and Unmarshal here walk the types by reflection, with a plan per type
// that is made once. Nothing outside this package should pass these types to
// encoding/json.
//
// Types that Determined does not have live in detent.go.
package v1
