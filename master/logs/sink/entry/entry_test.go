package entry

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var line = Entry{At: time.Date(2026, 11, 30, 12, 0, 0, 123456789, time.UTC), Level: 4, Text: "loss is nan", Number: 7, Log: "12.trial-3", Type: "TRIAL", Experiment: 12, Trial: 40,
	Allocation: "12.trial-3.1", Container: "abc", Node: "gpu 1", Rank: 0, Stdtype: "stderr", Source: "task", Workspace: `Vision "A]`, Owner: "ann"}

// TestOTLP: a request in OTLP's JSON, with everything that is known of a line.
func TestOTLP(t *testing.T) {
	got, err := OTLP("lab", []Entry{line, {At: time.Unix(0, 5), Level: 9, Text: "\xff", Rank: -1, Source: "master"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"detent"}},{"key":"detent.cluster","value":{"stringValue":"lab"}}]},` +
		`"scopeLogs":[{"scope":{"name":"detent"},"logRecords":[{"timeUnixNano":"1796040000123456789","severityNumber":13,"severityText":"WARN","body":{"stringValue":"loss is nan"},"attributes":[` +
		`{"key":"detent.task.id","value":{"stringValue":"12.trial-3"}},{"key":"detent.task.type","value":{"stringValue":"TRIAL"}},{"key":"detent.experiment.id","value":{"intValue":"12"}},` +
		`{"key":"detent.trial.id","value":{"intValue":"40"}},{"key":"detent.allocation.id","value":{"stringValue":"12.trial-3.1"}},{"key":"container.id","value":{"stringValue":"abc"}},` +
		`{"key":"host.name","value":{"stringValue":"gpu 1"}},{"key":"log.iostream","value":{"stringValue":"stderr"}},{"key":"detent.source","value":{"stringValue":"task"}},` +
		`{"key":"detent.workspace","value":{"stringValue":"Vision \"A]"}},{"key":"detent.owner","value":{"stringValue":"ann"}},{"key":"detent.line","value":{"intValue":"7"}},{"key":"detent.rank","value":{"intValue":"0"}}]},` +
		`{"timeUnixNano":"5","body":{"stringValue":"\ufffd"},"attributes":[{"key":"detent.source","value":{"stringValue":"master"}}]}]}]}]}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestRejected: what receivers say of lines that they drop.
func TestRejected(t *testing.T) {
	for answer, want := range map[string]int64{
		`{}`: 0, `{"partialSuccess":{}}`: 0, `{"partialSuccess":{"rejectedLogRecords":"3","errorMessage":"too old"}}`: 3, `{"partialSuccess":{"rejectedLogRecords":2}}`: 2,
		`{"partialSuccess":{"rejectedLogRecords":"-1"}}`: 0, `{"partialSuccess":{"rejectedLogRecords":"many"}}`: 0, "": 0, "OK": 0,
	} {
		if got, _ := Rejected([]byte(answer)); got != want {
			t.Errorf("%s: %d, want %d", answer, got, want)
		}
	}
}

// TestSyslog: a message of RFC 5424.
func TestSyslog(t *testing.T) {
	want := `<132>1 2026-11-30T12:00:00.123456Z gpu_1 detent 12.trial-3 task [detent@32473 cluster="lab" task_id="12.trial-3" task_type="TRIAL" experiment_id="12" trial_id="40" ` +
		`allocation_id="12.trial-3.1" container_id="abc" host_name="gpu 1" log_iostream="stderr" source="task" workspace="Vision \"A\]" owner="ann" line="7" rank="0"] loss is nan`
	if got := string(Syslog("lab", line, 0)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got, want := string(Syslog("lab", Entry{At: line.At, Level: 5, Text: "a\nb\x1b[31m\u2028\tc\xff", Rank: -1}, 0)), `<131>1 2026-11-30T12:00:00.123456Z - detent - master [detent@32473 cluster="lab"] a#012b#033[31m#20050`+"\tc\uFFFD"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	long := line
	long.Text = strings.Repeat("é", MaxDatagram)
	if got := Syslog("lab", long, MaxDatagram); len(got) > MaxDatagram || len(got) < MaxDatagram-4 || !utf8.Valid(got) || !strings.HasSuffix(string(got), " … (cut)") {
		t.Errorf("%d bytes, which end with %q", len(got), got[len(got)-20:])
	}
}

var message = regexp.MustCompile(`^<\d{1,3}>1 \S+ [!-~]{1,255} detent [!-~]{1,128} (task|master) \[detent@32473( [a-z_]+="([^"\\\]]|\\["\\\]])*")+\] `)

// FuzzEntries: no text makes a request that is no JSON, a message that is two, or one that is too long.
func FuzzEntries(f *testing.F) {
	for _, text := range []string{"", "plain", "a\nb", "\x00\xff\xfe", "<13>1 - - - - - -", `"] [x y="`, strings.Repeat("\u2028", 5_000), "\\", "é\u009b31m"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, text, label string) {
		e := Entry{At: line.At, Text: text, Log: label, Type: label, Allocation: label, Container: label, Node: label, Stdtype: label, Source: label, Workspace: label, Owner: label, Rank: 1, Number: 1}
		body, err := OTLP(label, []Entry{e})
		if err != nil || !json.Valid(body) {
			t.Errorf("no JSON: %v", err)
		}
		for _, most := range []int{0, MaxDatagram} {
			got := Syslog(label, e, most)
			if !utf8.Valid(got) || strings.ContainsFunc(string(got), func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' }) {
				t.Errorf("the message has what is no text: %q", got)
			}
			if !message.Match(got) {
				t.Errorf("no message: %.500q", got)
			}
			if len(label) < 100 && most > 0 && len(got) > most {
				t.Errorf("%d bytes", len(got))
			}
		}
	})
}
