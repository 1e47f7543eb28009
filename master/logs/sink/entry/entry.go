// Package entry writes log lines in the forms that other systems read: OTLP's JSON and syslog's RFC 5424. It is pure.
package entry

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// An Entry is one line of a log, with where it comes from. Empty fields are left out.
type Entry struct {
	At     time.Time
	Level  int // as in the API: 0 unspecified, 1 trace … 6 critical
	Text   string
	Number int64 // of the line in its log, from 1; with Log it identifies the line

	Log        string // the id of the task; "" for lines of masters
	Type       string // of the task, such as TRIAL
	Experiment int
	Trial      int
	Allocation string
	Container  string
	Node       string
	Rank       int // -1: none
	Stdtype    string
	Source     string
	Workspace  string
	Owner      string
}

// An attribute is a name with a text or a whole number.
type attribute struct {
	name   string
	text   string
	number int64
	isText bool
}

// attributes are what is known of the line besides its text.
func (e Entry) attributes() []attribute {
	all := []attribute{
		{name: "detent.task.id", text: e.Log, isText: true}, {name: "detent.task.type", text: e.Type, isText: true},
		{name: "detent.experiment.id", number: int64(e.Experiment)}, {name: "detent.trial.id", number: int64(e.Trial)},
		{name: "detent.allocation.id", text: e.Allocation, isText: true}, {name: "container.id", text: e.Container, isText: true},
		{name: "host.name", text: e.Node, isText: true}, {name: "log.iostream", text: e.Stdtype, isText: true},
		{name: "detent.source", text: e.Source, isText: true}, {name: "detent.workspace", text: e.Workspace, isText: true},
		{name: "detent.owner", text: e.Owner, isText: true}, {name: "detent.line", number: e.Number},
	}
	kept := all[:0]
	for _, a := range all {
		if a.text != "" || a.number != 0 {
			kept = append(kept, a)
		}
	}
	if e.Rank >= 0 && e.Log != "" {
		kept = append(kept, attribute{name: "detent.rank", number: int64(e.Rank)})
	}
	return kept
}

// The types of OTLP's JSON, as far as logs need them. Numbers of 64 bits are strings there.
type (
	otlpValue struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
	}
	otlpAttribute struct {
		Key   string    `json:"key"`
		Value otlpValue `json:"value"`
	}
	otlpRecord struct {
		Time       string          `json:"timeUnixNano"`
		Severity   int             `json:"severityNumber,omitempty"`
		Text       string          `json:"severityText,omitempty"`
		Body       otlpValue       `json:"body"`
		Attributes []otlpAttribute `json:"attributes,omitempty"`
	}
	otlpScope struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Records []otlpRecord `json:"logRecords"`
	}
	otlpResource struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		Scopes []otlpScope `json:"scopeLogs"`
	}
	otlpRequest struct {
		Resources []otlpResource `json:"resourceLogs"`
	}
)

func otlpText(s string) otlpValue { return otlpValue{String: &s} }

// severities are OTLP's numbers and names of the API's levels.
func severity(level int) (int, string) {
	numbers := [...]int{0, 1, 5, 9, 13, 17, 21}
	names := [...]string{"", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"}
	if level < 0 || level >= len(numbers) {
		level = 0
	}
	return numbers[level], names[level]
}

// OTLP is a request with the lines in OTLP's JSON. Invalid UTF-8 becomes the replacement character.
func OTLP(cluster string, lines []Entry) ([]byte, error) {
	records := make([]otlpRecord, len(lines))
	for i, e := range lines {
		r := otlpRecord{Time: strconv.FormatInt(max(0, e.At.UnixNano()), 10), Body: otlpText(e.Text)}
		r.Severity, r.Text = severity(e.Level)
		for _, a := range e.attributes() {
			value := otlpText(a.text)
			if !a.isText {
				number := strconv.FormatInt(a.number, 10)
				value = otlpValue{Int: &number}
			}
			r.Attributes = append(r.Attributes, otlpAttribute{a.name, value})
		}
		records[i] = r
	}
	resource := otlpResource{Scopes: []otlpScope{{Records: records}}}
	resource.Scopes[0].Scope.Name = "detent"
	resource.Resource.Attributes = []otlpAttribute{{"service.name", otlpText("detent")}, {"detent.cluster", otlpText(cluster)}}
	return json.Marshal(otlpRequest{[]otlpResource{resource}})
}

// Rejected reads how many lines a receiver of OTLP has not taken, and its words about that.
func Rejected(answer []byte) (lines int64, why string) {
	var said struct {
		Partial struct {
			Rejected json.RawMessage `json:"rejectedLogRecords"` // a string, or a number of those who do not follow the form
			Message  string          `json:"errorMessage"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &said) != nil {
		return 0, ""
	}
	n, err := strconv.ParseInt(strings.Trim(string(said.Partial.Rejected), `"`), 10, 64)
	if err != nil || n < 0 {
		return 0, ""
	}
	return n, said.Partial.Message
}

// Limits of RFC 5424, and of what receivers read.
const (
	maxHost = 255
	maxProc = 128
	// MaxDatagram is what a line may have as a datagram; more of it is cut.
	MaxDatagram = 8 << 10
	local0      = 16
)

// Syslog is the line as a message of RFC 5424 of at most most bytes; 0 for no limit. The text has no control characters:
// receivers that write lines to files would take a line break for the end of the message.
func Syslog(cluster string, e Entry, most int) []byte {
	priorities := [...]int{6, 7, 7, 6, 4, 3, 2}
	level := e.Level
	if level < 0 || level >= len(priorities) {
		level = 0
	}
	kind := "task"
	if e.Log == "" {
		kind = "master"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "<%d>1 %s %s detent %s %s [detent@32473 cluster=\"%s\"", local0*8+priorities[level], e.At.UTC().Format("2006-01-02T15:04:05.000000Z"),
		word(e.Node, maxHost), word(e.Log, maxProc), kind, parameter(cluster))
	for _, a := range e.attributes() {
		name := strings.ReplaceAll(strings.TrimPrefix(a.name, "detent."), ".", "_")
		value := a.text
		if !a.isText {
			value = strconv.FormatInt(a.number, 10)
		}
		fmt.Fprintf(&b, " %s=\"%s\"", name, parameter(value))
	}
	b.WriteString("] ")
	text := clean(e.Text)
	if most > 0 && b.Len()+len(text) > most {
		const cut = " … (cut)"
		end := max(0, most-b.Len()-len(cut))
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + cut
	}
	b.WriteString(text)
	return []byte(b.String())
}

// word is a field of the header: visible characters of ASCII, or "-" for none.
func word(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' {
			return '_'
		}
		return r
	}, s)
	if len(s) > most {
		s = s[:most]
	}
	if s == "" {
		return "-"
	}
	return s
}

// parameter is a value between quotation marks.
func parameter(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, `]`, `\]`).Replace(clean(s))
}

// clean replaces what is no text: invalid UTF-8, and control characters but tabs, each by its number.
func clean(s string) string {
	clean := true
	for i := range len(s) {
		if c := s[i]; c < ' ' && c != '\t' || c >= 0x7f {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			fmt.Fprintf(&b, "#%03o", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
