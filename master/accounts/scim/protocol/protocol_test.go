package protocol

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

func TestFilters(t *testing.T) {
	for _, c := range []struct {
		text string
		want string // comparisons, or the type of the error
	}{
		{`userName eq "ada"`, `username="ada"`}, {`USERNAME EQ "a\"d\u0061 and b"`, `username="a\"da and b"`}, {`  userName   eq   "ada"  `, `username="ada"`},
		{`urn:ietf:params:scim:schemas:core:2.0:User:userName eq "ada"`, `username="ada"`}, {`emails.value eq "a@b"`, `emails.value="a@b"`}, {`active eq true`, `active=true`},
		{`id eq "5" and members eq "7"`, `id="5" members="7"`}, {`displayName eq ""`, `displayname=""`},
		{``, InvalidFilter}, {`userName`, InvalidFilter}, {`userName eq`, InvalidFilter}, {`userName eq "ada`, InvalidFilter}, {`userName eq "ada\"`, InvalidFilter}, {`userName eq ada`, InvalidFilter},
		{`userName co "a"`, InvalidFilter}, {`userName pr`, InvalidFilter}, {`userName ne "a"`, InvalidFilter}, {`not (userName eq "a")`, InvalidFilter}, {`(userName eq "a")`, InvalidFilter},
		{`userName eq "a" or userName eq "b"`, InvalidFilter}, {`userName eq "a" and`, InvalidFilter}, {`userName eq "a" garbage`, InvalidFilter}, {`userName eq {"a":1}`, InvalidFilter}, {`userName eq [1]`, InvalidFilter},
		{`emails[type eq "work"] eq "x"`, InvalidFilter}, {`userName eq "a\u0000b"`, InvalidFilter}, {"userName eq \"a\nb\"", InvalidFilter}, {`userName eq "\xff"`, InvalidFilter}, {`a.b.c eq "x"`, InvalidFilter}, {`urn:x:y eq "x"`, InvalidFilter},
		{strings.Repeat("x", maxFilter+1), InvalidFilter}, {strings.Repeat(`id eq "1" and `, maxCompares) + `id eq "1"`, InvalidFilter},
		{`userName eq "a'; DROP TABLE users; --"`, `username="a'; DROP TABLE users; --"`},
	} {
		list, err := ParseFilter(c.text)
		var got []string
		for _, one := range list {
			value := fmt.Sprintf("%q", one.Value)
			if one.Bare {
				value = one.Value
			}
			got = append(got, one.Attr+"="+value)
		}
		if err != nil {
			got = []string{TypeOf(err)}
		}
		if strings.Join(got, " ") != c.want || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%.60s: %v %v, expected %s", c.text, got, err, c.want)
		}
	}
}

func patched(t *testing.T, body string) (string, error) {
	t.Helper()
	active := true
	was := User{Attributes: Attributes{UserName: "ada", DisplayName: "Ada", Name: Name{GivenName: "Ada", FamilyName: "L"}, Emails: []Email{{Value: "a@b", Type: "work", Primary: true}, {Value: "c@d", Type: "home"}}}, ExternalID: "x", Active: &active}
	before, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	ops, err := ParsePatch([]byte(body))
	if err != nil {
		return "", err
	}
	now, err := was.Patch(ops)
	if after, failed := json.Marshal(was); failed != nil || string(after) != string(before) {
		t.Errorf("%s changed the user that it began with: %s", body, after)
	}
	var emails []string
	for _, e := range now.Emails {
		emails = append(emails, fmt.Sprintf("%s %s %v", e.Value, e.Type, e.Primary))
	}
	return fmt.Sprintf("%s|%s|%s|%s %s|%s|%v", now.UserName, now.DisplayName, now.ExternalID, now.Name.GivenName, now.Name.FamilyName, strings.Join(emails, ","), *now.Active), err
}

func TestPatchesOfUsers(t *testing.T) {
	const same = "ada|Ada|x|Ada L|a@b work true,c@d home false|true"
	for ops, want := range map[string]string{
		`{"op":"replace","path":"active","value":false}`:                                                                              strings.Replace(same, "|true", "|false", 1),
		`{"op":"Replace","path":"active","value":"False"}`:                                                                            strings.Replace(same, "|true", "|false", 1),
		`{"op":"replace","value":{"active":false,"id":"7","schemas":[],"meta":{}}}`:                                                   strings.Replace(same, "|true", "|false", 1),
		`{"op":"replace","value":{"name.givenName":"B","urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department":"d"}}`: strings.Replace(same, "|Ada L", "|B L", 1),
		`{"op":"add","path":"name","value":{"familyName":"K"}}`:                                                                       strings.Replace(same, "Ada L", "Ada K", 1),
		`{"op":"remove","path":"name"}`:                                                                                               strings.Replace(same, "Ada L", " ", 1),
		`{"op":"remove","path":"externalId"}`:                                                                                         strings.Replace(same, "|x|", "||", 1),
		`{"op":"replace","path":"userName","value":"bob"}`:                                                                            strings.Replace(same, "ada", "bob", 1),
		`{"op":"replace","path":"urn:ietf:params:scim:schemas:core:2.0:User:displayName","value":"D"}`:                                strings.Replace(same, "|Ada|", "|D|", 1),
		`{"op":"replace","path":"emails[type eq \"work\"].value","value":"n@b"}`:                                                      strings.Replace(same, "a@b", "n@b", 1),
		`{"op":"replace","path":"emails[type eq \"other\"].value","value":"n@b"}`:                                                     strings.Replace(same, "home false", "home false,n@b other false", 1),
		`{"op":"remove","path":"emails[type eq \"work\"]"}`:                                                                           strings.Replace(same, "a@b work true,", "", 1),
		`{"op":"remove","path":"emails"}`:                                                                                             "ada|Ada|x|Ada L||true",
		`{"op":"replace","path":"emails","value":[{"value":"z@z","primary":"True"}]}`:                                                 "ada|Ada|x|Ada L|z@z  true|true",
		`{"op":"add","path":"emails","value":{"value":"c@d","type":"home"}}`:                                                          same,
		`{"op":"replace","path":"password","value":"hunter2"}`:                                                                        same,
		`{"op":"add","path":"phoneNumbers[type eq \"work\"].value","value":"1"}`:                                                      same,
		`{"op":"replace","path":"active","value":false},{"op":"replace","path":"active","value":true}`:                                same,
		`{"op":"remove","path":"active"}`:                                                                                             Mutability,
		`{"op":"remove","path":"userName"}`:                                                                                           InvalidValue,
		`{"op":"replace","path":"userName","value":7}`:                                                                                InvalidValue,
		`{"op":"replace","path":"active","value":"maybe"}`:                                                                            InvalidValue,
		`{"op":"replace","path":"active","value":[true]}`:                                                                             InvalidValue,
		`{"op":"replace","path":"active"}`:                                                                                            InvalidSyntax,
		`{"op":"replace","path":"id","value":"1"}`:                                                                                    Mutability,
		`{"op":"replace","path":"groups","value":[]}`:                                                                                 Mutability,
		`{"op":"replace","path":"admin","value":true}`:                                                                                InvalidPath,
		`{"op":"replace","value":{"admin":true}}`:                                                                                     InvalidPath,
		`{"op":"replace","value":{"":true}}`:                                                                                          InvalidPath,
		`{"op":"remove"}`:                                                                                                             NoTarget,
		`{"op":"replace","value":5}`:                                                                                                  InvalidValue,
		`{"op":"replace","value":null}`:                                                                                               InvalidValue,
		`{"op":"replace","path":"emails[type eq \"work\"","value":"n@b"}`:                                                             InvalidPath,
		`{"op":"replace","path":"emails[type gt \"work\"].value","value":"n@b"}`:                                                      InvalidPath,
		`{"op":"replace","path":"emails.","value":"n@b"}`:                                                                             InvalidPath,
		`{"op":"replace","path":"displayName[x eq \"1\"]","value":"n@b"}`:                                                             InvalidPath,
		`{"op":"replace","path":"emails","value":[` + strings.Repeat(`{"value":"%d"},`, 30) + `{}]}`:                                  InvalidValue,
		`{"op":"replace","path":"displayName","value":"a\u0000b"}`:                                                                    InvalidValue,
		`{"op":"replace","path":"displayName","value":"` + strings.Repeat("x", 201) + `"}`:                                            InvalidValue,
		`{"op":"move","path":"displayName"}`:                                                                                          InvalidSyntax,
	} {
		for i := range 31 { // thirty different addresses
			ops = strings.Replace(ops, "%d", fmt.Sprint(i), 1)
		}
		got, err := patched(t, `{"schemas":["`+PatchSchema+`"],"Operations":[`+ops+`]}`)
		if err != nil {
			got = TypeOf(err)
		}
		if got != want {
			t.Errorf("%.100s:\n%s, expected\n%s (%v)", ops, got, want, err)
		}
	}
	for body, want := range map[string]string{
		`{"Operations":[{"op":"remove","path":"name"}]}`: InvalidSyntax, `{"schemas":["` + PatchSchema + `"]}`: TooManyOps, `{"schemas":["` + PatchSchema + `"],"Operations":[]}`: TooManyOps,
		`[]`: InvalidValue, `{`: InvalidSyntax, ``: InvalidSyntax, `{"schemas":5}`: InvalidValue,
		`{"schemas":["` + PatchSchema + `"],"Operations":[` + strings.Repeat(`{"op":"remove","path":"name"},`, maxOperations) + `{"op":"remove","path":"name"}]}`: TooManyOps,
	} {
		if _, err := patched(t, body); TypeOf(err) != want {
			t.Errorf("%.60s: %v, expected %s", body, err, want)
		}
	}
}

func TestPatchesOfGroups(t *testing.T) {
	for ops, want := range map[string]string{
		`{"op":"add","path":"members","value":[{"value":"2"},{"value":"1"},{"value":"2"}]}`:                               "false [1 2] []",
		`{"op":"remove","path":"members[value eq \"3\"]"}`:                                                                "false [] [3]",
		`{"op":"remove","path":"members","value":[{"value":"3"}]}`:                                                        "false [] [3]",
		`{"op":"remove","path":"members"},{"op":"add","path":"members","value":{"value":"4"}}`:                            "true [4] []",
		`{"op":"replace","path":"members","value":[]}`:                                                                    "true [] []",
		`{"op":"add","path":"members","value":[{"value":"5"}]},{"op":"remove","path":"members","value":[{"value":"5"}]}`:  "false [] [5]",
		`{"op":"remove","path":"members","value":[{"value":"5"}]},{"op":"add","path":"members","value":[{"value":"5"}]}`:  "false [5] []",
		`{"op":"add","path":"members","value":[{"value":"5"}]},{"op":"replace","path":"members","value":[{"value":"6"}]}`: "true [6] []",
		`{"op":"replace","value":{"displayName":"D","externalId":"e","id":"5"}}`:                                          "false [] [] D e",
		`{"op":"remove","path":"members[value eq \"nobody\"]"}`:                                                           "false [] []",
		`{"op":"add","path":"members","value":[{"value":"-1"}]}`:                                                          InvalidValue,
		`{"op":"add","path":"members","value":[{"value":"01"}]}`:                                                          InvalidValue,
		`{"op":"add","path":"members","value":[{"value":"99999999999999999999"}]}`:                                        InvalidValue,
		`{"op":"add","path":"members","value":[{"value":"5","type":"Group"}]}`:                                            InvalidValue,
		`{"op":"add","path":"members","value":["5"]}`:                                                                     InvalidValue,
		`{"op":"add","path":"members[value eq \"3\"]","value":[]}`:                                                        InvalidPath,
		`{"op":"remove","path":"members[display eq \"3\"]"}`:                                                              InvalidPath,
		`{"op":"remove","path":"displayName"}`:                                                                            InvalidValue,
		`{"op":"replace","path":"displayName","value":" x"}`:                                                              InvalidValue,
		`{"op":"replace","path":"roles","value":"x"}`:                                                                     InvalidPath,
		`{"op":"replace","path":"meta.created","value":"x"}`:                                                              Mutability,
		`{"op":"add","path":"members","value":[` + strings.Repeat(`{"value":"1"},`, MaxMembers) + `{"value":"2"}]}`:       TooManyOps,
	} {
		list, err := ParsePatch([]byte(`{"schemas":["` + PatchSchema + `"],"Operations":[` + ops + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		p, err := PatchGroup(list)
		got := fmt.Sprint(p.Clear, p.Add, p.Remove)
		for _, text := range []*string{p.DisplayName, p.ExternalID} {
			if text != nil {
				got += " " + *text
			}
		}
		if err != nil {
			got = TypeOf(err)
		}
		if got != want {
			t.Errorf("%.80s: %s, expected %s (%v)", ops, got, want, err)
		}
	}
}

func TestUsers(t *testing.T) {
	for body, want := range map[string]string{
		`{"userName":"ada","active":"True","emails":[{"value":"a@b"}],"password":"x","title":"Dr"}`: "",
		`{"USERNAME":"ada"}`: "", `{}`: InvalidValue, `{"userName":" "}`: InvalidValue, `{"userName":7}`: InvalidValue, `{"userName":"a","active":"x"}`: InvalidValue,
		`{"userName":"a\u0000"}`: InvalidValue, `{"userName":"` + strings.Repeat("a", 129) + `"}`: InvalidValue, `{"userName":"a","emails":"x"}`: InvalidValue,
		`{"userName":"a","externalId":"` + strings.Repeat("a", 257) + `"}`: InvalidValue, `nonsense`: InvalidSyntax, `{"userName":"a","emails":[` + strings.Repeat("{},", 20) + `{}]}`: InvalidValue,
		`{"userName":"a","emails":[{"value":"` + strings.Repeat("a", 321) + `"}]}`: InvalidValue,
	} {
		if _, err := ParseUser([]byte(body)); TypeOf(err) != want || (err != nil) != (want != "") {
			t.Errorf("%.60s: %v, expected %q", body, err, want)
		}
	}
	if _, err := ParseGroup([]byte(`{"displayName":"x","members":[` + strings.Repeat(`{"value":"1"},`, MaxMembers) + `{"value":"1"}]}`)); TypeOf(err) != TooManyOps {
		t.Error(err)
	}
}

// FuzzFilter: every text is a filter with names and values, or a fault with a type.
func FuzzFilter(f *testing.F) {
	for _, seed := range []string{`userName eq "ada"`, `id eq "5" and members eq "7"`, `a eq "\u0041\\"`, `active eq true and b eq 5`, `urn:ietf:params:scim:schemas:core:2.0:User:a.b eq ""`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseFilter(text)
		if err != nil {
			if TypeOf(err) == "" || !fault.Is(err, fault.Invalid) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		var again []string
		for _, c := range list {
			if c.Attr == "" || c.Attr != strings.ToLower(c.Attr) || checkText("", c.Value, maxFilter) != nil {
				t.Errorf("%q: %+v", text, c)
			}
			value := c.Value
			if !c.Bare {
				b, err := json.Marshal(c.Value)
				if err != nil {
					t.Fatal(err)
				}
				value = string(b)
			}
			again = append(again, c.Attr+" eq "+value)
		}
		if joined := strings.Join(again, " and "); len(joined) <= maxFilter {
			if same, err := ParseFilter(joined); err != nil || !slices.Equal(same, list) {
				t.Errorf("%q is read as %+v, and its text form as %+v (%v)", text, list, same, err)
			}
		}
	})
}

// FuzzPath: every text is a path, or a fault with a type; and a patch with it ends.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"active", "name.givenName", `emails[type eq "work"].value`, `members[value eq "5"]`, "urn:ietf:params:scim:schemas:core:2.0:Group:members", "a[b"} {
		f.Add(seed, "replace", `{"a":1}`)
	}
	f.Fuzz(func(t *testing.T, text, op, value string) {
		if _, err := ParsePath(text); err != nil && TypeOf(err) != InvalidPath {
			t.Errorf("%q: %v", text, err)
		}
		body, err := json.Marshal(map[string]any{"schemas": []string{PatchSchema}, "Operations": []any{map[string]any{"op": op, "path": text, "value": json.RawMessage(value)}}})
		if err != nil {
			return // the value is no JSON
		}
		ops, err := ParsePatch(body)
		if err != nil {
			return
		}
		if now, err := (User{Attributes: Attributes{UserName: "ada"}}).Patch(ops); err == nil && now.check() != nil || err != nil && TypeOf(err) == "" {
			t.Errorf("%s: %+v %v", body, now, err)
		}
		if p, err := PatchGroup(ops); err != nil && TypeOf(err) == "" || len(p.Add)+len(p.Remove) > MaxMembers {
			t.Errorf("%s: %+v %v", body, p, err)
		}
	})
}
