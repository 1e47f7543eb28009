// Package v1 is the wire: the request and response types of /api/v1 and the
// codec that reads and writes them by the rules that clients of Determined
// 0.38.1 rely on.
//
// The types follow that interface's field names; a file holds one noun. What is
// optional in a request, or absent for a reason in a response, is a pointer;
// everything else is a value and is always written, zero or not, because
// generated clients index required fields without asking.
//
// encoding/json cannot serve these rules (int64 as decimal strings, empty lists
// instead of null, input in camelCase or snake_case, null for "not given"), so
// Marshal and Unmarshal here walk the types by reflection, with a plan per type
// that is made once. Nothing outside this package should pass these types to
// encoding/json.
//
// Types that Determined does not have live in detent.go.
package v1
