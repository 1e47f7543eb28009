// Package protocol parses the messages of SCIM 2.0 clients (RFC 7643, RFC 7644): users, groups, filters and
// patches, and describes which parts of the standard the master supports. It does no I/O: package scim serves the
// routes, and stores the accounts and groups.
//
// The master stores the names and mail addresses of a user and whether the account is active, and the
// name and the members of a group. It ignores other attributes of the standard's schemas, because
// identity providers send many of them by default, and the names of those that it knows may have letters of any case. That is why
// master/document, which rejects what it does not know, does not read these messages. It also ignores passwords: an account that a
// client creates has no password here.
//
// The library scim2/filter-parser (2.3) would not replace filter.go: it does not decode escapes in texts (\u0000, \"), accepts texts
// that are not UTF-8, and parses all operators, of which the master supports two, so the checks would remain.
package protocol

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/detent-ml/detent/master/fault"
)

// The schemas of messages and resources.
const (
	UserSchema  = "urn:ietf:params:scim:schemas:core:2.0:User"
	GroupSchema = "urn:ietf:params:scim:schemas:core:2.0:Group"
	ListSchema  = "urn:ietf:params:scim:api:messages:2.0:ListResponse"
	PatchSchema = "urn:ietf:params:scim:api:messages:2.0:PatchOp"
	ErrorSchema = "urn:ietf:params:scim:api:messages:2.0:Error"
	MediaType   = "application/scim+json"
)

// Limits for messages of a client. MaxMembers is the maximum number of members in one request.
const (
	maxUserName   = 128
	maxText       = 200
	maxExternalID = 256
	maxAddress    = 320
	maxAddresses  = 20
	MaxMembers    = 20_000
	maxOperations = 1000
)

// Types of errors (scimType).
const (
	InvalidFilter = "invalidFilter"
	InvalidPath   = "invalidPath"
	InvalidSyntax = "invalidSyntax"
	InvalidValue  = "invalidValue"
	Mutability    = "mutability"
	NoTarget      = "noTarget"
	Uniqueness    = "uniqueness"
	TooManyOps    = "tooMany"
)

// An Error is a fault with a type of SCIM's.
type Error struct {
	Type string
	error
}

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.error }

// TypeOf is the type of an error; "" if it has none.
func TypeOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Type
	}
	return ""
}

// Typed gives an error a type.
func Typed(kind string, err error) error { return &Error{kind, err} }

func invalid(kind, format string, args ...any) error {
	return Typed(kind, fault.New(fault.Invalid, format, args...))
}

// Name has the parts of a person's name.
type Name struct {
	Formatted  string `json:"formatted,omitempty"`
	FamilyName string `json:"familyName,omitempty"`
	GivenName  string `json:"givenName,omitempty"`
	MiddleName string `json:"middleName,omitempty"`
}

// An Email is a mail address of a person.
type Email struct {
	Value   string `json:"value"`
	Display string `json:"display,omitempty"`
	Type    string `json:"type,omitempty"`
	Primary Bool   `json:"primary"`
}

// Bool also reads "True" and "False", which some clients send.
type Bool bool

// UnmarshalJSON reads a Bool.
func (b *Bool) UnmarshalJSON(raw []byte) error {
	switch strings.ToLower(strings.Trim(string(raw), `"`)) {
	case "true":
		*b = true
	case "false", "null":
		*b = false
	default:
		return invalid(InvalidValue, "expected true or false, found %s", fault.Clip(string(raw)))
	}
	return nil
}

// Attributes are attributes of a user that the master stores and shows only to the client.
type Attributes struct {
	UserName    string  `json:"userName,omitempty"` // as the client writes it
	DisplayName string  `json:"displayName,omitempty"`
	Name        Name    `json:"name,omitzero"`
	Emails      []Email `json:"emails,omitempty"`
}

// A User is a user as a client sends it.
type User struct {
	Attributes
	ExternalID string
	Active     *bool // nil: not in the request
}

// wireUser is the form of a user in a request.
type wireUser struct {
	Attributes
	ExternalID string `json:"externalId"`
	Active     *Bool  `json:"active"`
}

// ParseUser reads a user from the body of a request.
func ParseUser(body []byte) (User, error) {
	var w wireUser
	if err := decode(body, &w); err != nil {
		return User{}, err
	}
	u := User{Attributes: w.Attributes, ExternalID: w.ExternalID, Active: (*bool)(w.Active)}
	return u, u.check()
}

// ShownName returns the display name of a user.
func (a Attributes) ShownName() string {
	switch {
	case a.DisplayName != "":
		return a.DisplayName
	case a.Name.Formatted != "":
		return a.Name.Formatted
	}
	return strings.TrimSpace(a.Name.GivenName + " " + a.Name.FamilyName)
}

func (u User) check() error {
	if strings.TrimSpace(u.UserName) == "" {
		return invalid(InvalidValue, "userName: is required")
	}
	for _, t := range []struct {
		name, value string
		limit       int
	}{
		{"userName", u.UserName, maxUserName}, {"externalId", u.ExternalID, maxExternalID}, {"displayName", u.DisplayName, maxText},
		{"name.formatted", u.Name.Formatted, maxText}, {"name.familyName", u.Name.FamilyName, maxText}, {"name.givenName", u.Name.GivenName, maxText}, {"name.middleName", u.Name.MiddleName, maxText},
	} {
		if err := checkText(t.name, t.value, t.limit); err != nil {
			return err
		}
	}
	if len(u.Emails) > maxAddresses {
		return invalid(InvalidValue, "emails: %d are over the limit of %d", len(u.Emails), maxAddresses)
	}
	for _, e := range u.Emails {
		if err := errors.Join(checkText("emails.value", e.Value, maxAddress), checkText("emails.display", e.Display, maxText), checkText("emails.type", e.Type, maxText)); err != nil {
			return err
		}
	}
	return nil
}

func checkText(name, value string, limit int) error {
	switch {
	case len(value) > limit:
		return invalid(InvalidValue, "%s: %d bytes are over the limit of %d", name, len(value), limit)
	case !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl):
		return invalid(InvalidValue, "%s: contains control characters", name)
	}
	return nil
}

// A Group is a group as a client sends it.
type Group struct {
	DisplayName string
	ExternalID  string
	Members     []int // nil: not in the request
}

type wireMember struct {
	Value string `json:"value"`
	Type  string `json:"type"`
}

// ParseGroup reads a group from the body of a request.
func ParseGroup(body []byte) (Group, error) {
	var w struct {
		DisplayName string        `json:"displayName"`
		ExternalID  string        `json:"externalId"`
		Members     *[]wireMember `json:"members"`
	}
	if err := decode(body, &w); err != nil {
		return Group{}, err
	}
	g := Group{DisplayName: w.DisplayName, ExternalID: w.ExternalID}
	if w.Members != nil {
		ids, err := memberIDs(*w.Members)
		if err != nil {
			return g, err
		}
		g.Members = ids
	}
	return g, g.check()
}

func (g Group) check() error {
	if strings.TrimSpace(g.DisplayName) == "" {
		return invalid(InvalidValue, "displayName: is required")
	}
	if strings.TrimSpace(g.DisplayName) != g.DisplayName {
		return invalid(InvalidValue, "displayName: begins or ends with a space")
	}
	if err := checkText("displayName", g.DisplayName, maxText); err != nil {
		return err
	}
	return checkText("externalId", g.ExternalID, maxExternalID)
}

func memberIDs(list []wireMember) ([]int, error) {
	if len(list) > MaxMembers {
		return nil, invalid(TooManyOps, "members: %d are over the limit of %d in one request", len(list), MaxMembers)
	}
	ids := make([]int, len(list))
	for i, m := range list {
		if m.Type != "" && !strings.EqualFold(m.Type, "User") {
			return nil, invalid(InvalidValue, "members: only users can be members, found the type %q", fault.Clip(m.Type))
		}
		id, err := ParseID(m.Value)
		if err != nil {
			return nil, invalid(InvalidValue, "members: there is no user %q", fault.Clip(m.Value))
		}
		ids[i] = id
	}
	return ids, nil
}

// ParseID reads the id of a user or group.
func ParseID(text string) (int, error) {
	id, err := strconv.ParseInt(text, 10, 32)
	if err != nil || id <= 0 || strconv.FormatInt(id, 10) != text {
		return 0, fault.New(fault.NotFound, "resource %s not found", fault.Clip(text))
	}
	return int(id), nil
}

// decode reads JSON into a value.
func decode(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	if err == nil || TypeOf(err) != "" {
		return err
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return invalid(InvalidValue, "%s: expected another type than %s", kind.Field, kind.Value)
	}
	return invalid(InvalidSyntax, "the body is not a JSON object: %v", err)
}
