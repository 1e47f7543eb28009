// Package v1 has the request and response types of /api/v1, the table of endpoints, and the
// codec that encodes and decodes messages as clients of Determined 0.38.1 expect.
//
// The types have Determined's field names; a file has one noun, with its endpoints first. A type without a comment is a
// message of Determined with the same name and fields. Responses contain every field, set or
// not, because clients access fields without checking: optional messages, times and numbers are
// pointers, null if not set; an unset Struct is {} or, with the option null in its tag, null;
// all other fields are values. Only the fields of requests, alternatives of which one is set,
// and fields that would repeat in each line of a log are omitted if they are not set
// (omitempty). Of an enum, the values that programs name are constants; generate/bindings.txt has all values of
// Determined's.
//
// encoding/json cannot follow these rules (int64 as decimal strings, empty lists instead of
// null, input in camelCase or snake_case, null for "not given"), so Marshal and Unmarshal walk
// the types by reflection, with one cached plan per type. No other package should pass these
// types to encoding/json.
//
// The request of a GET is a struct too: ParseQuery reads it from the parameters of the address (query.go, queries.go).
//
// Types that Determined does not have are in detent.go.
package v1
