package v1

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

type inner struct {
	HostIP  string     `json:"hostIp"`
	When    *time.Time `json:"when,omitempty"`
	Big     int64      `json:"big"`
	Small   int        `json:"small"`
	Share   float64    `json:"share"`
	On      bool       `json:"on"`
	Maybe   *int       `json:"maybe,omitempty"`
	Free    Struct     `json:"free"`
	Content []byte     `json:"content"`
}

type outer struct {
	Items     []inner          `json:"items"`
	Resources map[string]int64 `json:"resources"`
	Names     []string         `json:"names"`
	Opt       *inner           `json:"opt,omitempty"`
}

// unsets holds what is written as null.
type unsets struct {
	Message *inner     `json:"message"`
	When    *time.Time `json:"when"`
	Number  *float64   `json:"number"`
	Object  Struct     `json:"object,null"`
	Free    Struct     `json:"free"`
}

func TestMarshalFollowsTheRules(t *testing.T) {
	when := time.Date(2026, 11, 20, 1, 2, 3, 456789000, time.FixedZone("", 3600))
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"zero values are written", inner{}, `{"hostIp":"","big":"0","small":0,"share":0,"on":false,"free":{},"content":""}`},
		{"int64 is a string, times are UTC", inner{Big: 1 << 60, When: &when},
			`{"hostIp":"","when":"2026-11-20T00:02:03.456789Z","big":"1152921504606846976","small":0,"share":0,"on":false,"free":{},"content":""}`},
		{"empty collections are not null", outer{}, `{"items":[],"resources":{},"names":[]}`},
		{"what is not set is null", unsets{}, `{"message":null,"when":null,"number":null,"object":null,"free":{}}`},
		{"what is set is written", unsets{Number: new(float64), Object: Struct(`{}`)}, `{"message":null,"when":null,"number":0,"object":{},"free":{}}`},
		{"maps are sorted, their int64 are strings", outer{Resources: map[string]int64{"b": 2, "a": 1}},
			`{"items":[],"resources":{"a":"1","b":"2"},"names":[]}`},
		{"numbers that JSON lacks", []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.5}, `["NaN","Infinity","-Infinity",1.5]`},
		{"free objects pass unchanged", inner{Free: Struct(`{"snake_case":1.0}`), Content: []byte("hi?>")},
			`{"hostIp":"","big":"0","small":0,"share":0,"on":false,"free":{"snake_case":1.0},"content":"aGk/Pg=="}`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Marshal(tc.in)
			if err != nil || string(got) != tc.want {
				t.Errorf("got  %s (%v)\nwant %s", got, err, tc.want)
			}
			if !json.Valid(got) {
				t.Error("that is not JSON")
			}
		})
	}
}

func TestUnmarshalIsLenient(t *testing.T) {
	five := 5
	when := time.Date(2026, 11, 20, 4, 22, 1, 973297000, time.UTC)
	tests := []struct {
		name, in string
		want     inner
	}{
		{"camelCase", `{"hostIp":"a","small":3}`, inner{HostIP: "a", Small: 3}},
		{"snake_case", `{"host_ip":"a"}`, inner{HostIP: "a"}},
		{"unknown names are ignored", `{"nobody":{"knows":[1]},"small":1}`, inner{Small: 1}},
		{"null is not given", `{"hostIp":null,"maybe":null,"free":null,"content":null}`, inner{}},
		{"integers as strings", `{"big":"7","small":"8","maybe":"5"}`, inner{Big: 7, Small: 8, Maybe: &five}},
		{"integers as floats", `{"small":8.0,"big":1e3}`, inner{Small: 8, Big: 1000}},
		{"floats as strings", `{"share":"0.5"}`, inner{Share: 0.5}},
		{"python's times", `{"when":"2026-11-20T04:22:01.973297+00:00"}`, inner{When: &when}},
		{"times without a zone", `{"when":"2026-11-20T04:22:01.973297"}`, inner{When: &when}},
		{"an empty body", ``, inner{}},
		{"free objects stay as they are", `{"free":{"A_b": [1, 2]}}`, inner{Free: Struct(`{"A_b": [1, 2]}`)}},
		{"base64 without padding", `{"content":"aGk"}`, inner{Content: []byte("hi")}},
		{"escapes", `{"host_ip":"a\u00e9\n"}`, inner{HostIP: "aé\n"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got inner
			if err := Unmarshal([]byte(tc.in), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

func TestUnmarshalSaysWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		`{"items":[{"small":"x"}]}`:        `items[0].small: expected an integer, found "x"`,
		`{"items":{}}`:                     `items: expected a list, found {}`,
		`{"opt":{"on":3}}`:                 `opt.on: expected true or false, found 3`,
		`{"opt":{"when":"soon"}}`:          `opt.when: expected a time such as`,
		`{"opt":{"free":[]}}`:              `opt.free: expected an object, found []`,
		`{"opt":{"content":"%%"}}`:         `opt.content: expected base64`,
		`{"resources":{"a":1.5}}`:          `resources.a: expected an integer, found 1.5`,
		`{"items":[{"small":3000000000}]}`: `an integer of 32 bits`,
		`{"names":["a",`:                   `the body is not JSON: unexpected end of JSON input at byte 14`,
		`nonsense`:                         `the body is not JSON: invalid character`,
		`[]`:                               `the body: expected an object, found []`,
	} {
		var got outer
		err := Unmarshal([]byte(in), &got)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", in, err, want)
		}
	}
}

// FuzzUnmarshal: no input panics, and what is read survives being written and
// read again.
func FuzzUnmarshal(f *testing.F) {
	f.Add(`{"items":[{"host_ip":"a","big":"7"}],"resources":{"a":"1"},"names":["x"],"opt":{"when":"2026-11-20T04:22:01Z"}}`)
	f.Add(`{"opt":{"free":{"a":{}},"content":"aGk="}}`)
	f.Fuzz(func(t *testing.T, in string) {
		var a, b outer
		if Unmarshal([]byte(in), &a) != nil {
			return
		}
		out, err := Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		if err := Unmarshal(out, &b); err != nil {
			t.Fatalf("%s was written as %s, which does not read: %v", in, out, err)
		}
		again, err := Marshal(b)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%s\n%s", out, again)
		}
	})
}

// TestPlansCoverTheWire builds a plan for every message, which panics on a field
// without a tag.
func TestPlansCoverTheWire(t *testing.T) {
	for _, m := range []any{Experiment{}, Trial{}, Task{}, User{}, Checkpoint{}, ClaimResponse{}, LogBatch{},
		ReportTrialMetricsRequest{}, CreateExperimentRequest{}, ResourcePool{}, Agent{}, GetTasksResponse{}} {
		if len(planOf(reflect.TypeOf(m)).fields) == 0 {
			t.Errorf("%T has no fields", m)
		}
	}
}

func BenchmarkUnmarshalReport(b *testing.B) {
	body := []byte(`{"group":"training","metrics":{"metrics":{"avgMetrics":{"loss":1.5,"acc":0.5,"a":1,"b":2,"c":3},"batchMetrics":null},"trialId":12,"trialRunId":1,"reportTime":null,"stepsCompleted":10}}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var r ReportTrialMetricsRequest
		if err := Unmarshal(body, &r); err != nil {
			b.Fatal(err)
		}
	}
}
