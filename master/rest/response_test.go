package rest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// Indenting does not make an answer thousands of times as long.
func TestPrettyAnswersOfDeepValues(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":[1,2,{"b":"c,[{\\","d":null}],"e":{"f":[true]}}`:                                 true,
		strings.Repeat("[", 300) + strings.Repeat("0,", 5000) + "0" + strings.Repeat("]", 300): false,
	} {
		var b bytes.Buffer
		if err := json.Indent(&b, []byte(text), "", "  "); err != nil {
			t.Fatal(err)
		}
		size := indentedSize([]byte(text))
		if size < b.Len() || size > b.Len()+2*len(text) {
			t.Errorf("the size of %.40s is estimated as %d, and is %d", text, size, b.Len())
		}
		if pretty := size <= maxPretty*len(text); pretty != want {
			t.Errorf("%.40s is indented: %t", text, pretty)
		}
	}
}
