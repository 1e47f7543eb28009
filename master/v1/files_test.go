package v1

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// kept is a sink that keeps everything.
type kept struct {
	content []byte
	files   []File
}

func (k *kept) Content(p []byte) error { k.content = append(k.content, p...); return nil }
func (k *kept) File(f File) error {
	f.Content, k.content = k.content, nil
	k.files = append(k.files, f)
	return nil
}

// Splitting a message and reading the rest gives the same as reading the whole message.
func TestSplittingSaysWhatReadingSays(t *testing.T) {
	for seed := range uint64(400) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		body := randomBody(t, rnd)
		var whole CreateExperimentRequest
		if err := Unmarshal(body, &whole); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for name, r := range map[string]io.Reader{"at once": bytes.NewReader(body), "in halves": iotest.HalfReader(bytes.NewReader(body)),
			"by bytes": iotest.OneByteReader(bytes.NewReader(body))} {
			var rest bytes.Buffer
			var k kept
			if err := SplitFiles(r, "modelDefinition", &rest, &k); err != nil {
				t.Fatalf("seed %d, %s: %v\n%s", seed, name, err, clipped(body))
			}
			var parts CreateExperimentRequest
			if err := Unmarshal(rest.Bytes(), &parts); err != nil {
				t.Fatalf("seed %d, %s: the rest: %v\n%s", seed, name, err, clipped(rest.Bytes()))
			}
			if parts.ModelDefinition != nil {
				t.Fatalf("seed %d, %s: files are in the rest", seed, name)
			}
			for i := range k.files {
				if len(k.files[i].Content) == 0 && len(whole.ModelDefinition[i].Content) == 0 {
					k.files[i].Content = whole.ModelDefinition[i].Content
				}
			}
			parts.ModelDefinition = k.files
			if len(whole.ModelDefinition) == 0 {
				parts.ModelDefinition = whole.ModelDefinition
			}
			if !reflect.DeepEqual(parts, whole) {
				t.Fatalf("seed %d, %s: %+v\nwant %+v\n%s", seed, name, parts, whole, clipped(body))
			}
		}
	}
}

func clipped(b []byte) []byte { return b[:min(len(b), 2000)] }

// randomBody writes a request in one of the many ways in which it can be written.
func randomBody(t *testing.T, rnd *rand.Rand) []byte {
	quote := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	space := func() string { return strings.Repeat(" \n\t"[rnd.IntN(3):][:1], rnd.IntN(2)) }
	object := func(fields []string) string {
		rnd.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		return "{" + space() + strings.Join(fields, space()+","+space()) + space() + "}"
	}
	files := make([]string, rnd.IntN(4))
	for i := range files {
		content := make([]byte, []int{0, 1, 2, 3, 100, 40_000}[rnd.IntN(6)])
		for j := range content {
			content[j] = byte(rnd.Uint32())
		}
		enc := []*base64.Encoding{base64.StdEncoding, base64.URLEncoding, base64.RawStdEncoding, base64.RawURLEncoding}[rnd.IntN(4)]
		text := `"` + enc.EncodeToString(content) + `"`
		if rnd.IntN(3) == 0 {
			text = strings.ReplaceAll(strings.ReplaceAll(text, "/", `\/`), "+", `\u002b`)
		}
		fields := []string{`"content"` + space() + ":" + space() + text, `"path":` + quote(fmt.Sprintf(`dir\"é/%d`, i)),
			`"mtime":` + []string{`"12"`, `12`}[rnd.IntN(2)], `"mode":420`, `"unknown":{"a":[1,{"b":"]}"}]}`}
		if rnd.IntN(4) == 0 {
			fields = fields[1:]
		}
		files[i] = object(fields)
	}
	list := []string{"[" + space() + strings.Join(files, space()+",") + space() + "]", "null", "[]"}[min(2, rnd.IntN(12)/4*rnd.IntN(2))]
	fields := []string{[]string{`"modelDefinition":`, `"model_definition" : `}[rnd.IntN(2)] + list, `"activate":true`,
		`"config":` + quote(strings.Repeat(`a: "b\n" \ `, rnd.IntN(9000))), `"parentId":` + []string{"7", `"7"`, "null"}[rnd.IntN(3)]}
	if rnd.IntN(6) == 0 {
		fields = fields[1:]
	}
	return []byte(space() + object(fields) + space())
}

func TestSplittingRefuses(t *testing.T) {
	for body, want := range map[string]string{
		`[]`:                        "expected an object",
		`{"a":1`:                    "unexpected end",
		`{"a":1}x`:                  "unexpected character at byte 8",
		`{"a" 1}`:                   "unexpected character",
		`{"a":}`:                    "unexpected character",
		`{"a":1,}`:                  "unexpected character",
		`{"modelDefinition":{}}`:    "modelDefinition: expected a list",
		`{"modelDefinition":[1]}`:   "modelDefinition[0]: expected a file",
		`{"modelDefinition":[{},]}`: "modelDefinition[1]: expected a file",
		`{"modelDefinition":[],"model_definition":[]}`:                         "appears twice",
		`{"modelDefinition":[{"content":"AA==","content":""}]}`:                "appears twice",
		`{"modelDefinition":[{"content":"AA=A"}]}`:                             "expected base64",
		`{"modelDefinition":[{"content":"A"}]}`:                                "expected base64",
		`{"modelDefinition":[{"content":"AA==="}]}`:                            "expected base64",
		`{"modelDefinition":[{"content":"!!!!"}]}`:                             "expected base64",
		`{"modelDefinition":[{"content":7}]}`:                                  "expected base64",
		`{"modelDefinition":[{"path":"` + strings.Repeat("x", 20_000) + `"}]}`: "more than 16384 bytes",
		`{"` + strings.Repeat("x", 100) + `":1}`:                               "more than 64 bytes",
		`{"modelDefinition":[{"path":tru}]}`:                                   "not JSON",
		`{"modelDefinition":[{"mode":"x"}]}`:                                   "modelDefinition[0]: ",
	} {
		err := SplitFiles(strings.NewReader(body), "modelDefinition", io.Discard, &kept{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", clipped([]byte(body)), err, want)
		}
	}
	if err := SplitFiles(strings.NewReader(""), "files", io.Discard, &kept{}); err != nil {
		t.Errorf("an empty body: %v", err)
	}
}
