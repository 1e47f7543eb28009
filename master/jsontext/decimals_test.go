package jsontext

import (
	"strings"
	"testing"
)

func TestCheckDigits(t *testing.T) {
	many := func(number string, n int) string { return `{"a":[` + strings.Repeat(number+",", n) + `0]}` }
	for what, c := range map[string]struct {
		text string
		ok   bool
	}{
		"nothing":                    {``, true},
		"some large numbers":         {many("1e308", 1000), true},
		"many large numbers":         {many("1e308", 5000), false},
		"many small numbers":         {many("-2.5E-300", 5000), false},
		"a huge number":              {`{"a":1e140000000}`, false},
		"an exponent that overflows": {`{"a":1e99999999999999999999}`, false},
		"many usual numbers":         {many("1.25e-05", 500_000), true},
		"texts":                      {`{"\"1e308":"` + strings.Repeat(`1e308 \" `, 10_000) + `","b":"\\"}`, true},
		"after a text":               {`{"a\\":["\\\"",` + strings.Repeat("1e308,", 5000) + `1]}`, false},
		"a text that does not end":   {`{"a`, true},
	} {
		if err := CheckDigits([]byte(c.text)); (err == nil) != c.ok {
			t.Errorf("%s: %v", what, err)
		}
	}
}
