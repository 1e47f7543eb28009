package event

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "write the bodies in testdata anew")

func number(f float64) *float64 { return &f }

func events() map[string]Event {
	trial := 12
	x := Experiment{ID: 7, State: "COMPLETED", Name: "iris <!channel> & co", Duration: 3725, Pool: "gpu", Slots: 4, Workspace: "Vision", Project: "flowers"}
	failed, running, other := x, x, x
	failed.State, failed.Name = "ERROR", "iris"
	running.State, running.TrialID = "ACTIVE", &trial
	other.State = "PAUSED"
	return map[string]Event{
		"completed": {Type: StateChange, Timestamp: 1700000000, Condition: Condition{State: "COMPLETED"}, Experiment: &x},
		"failed":    {Type: StateChange, Timestamp: 1700000000, Condition: Condition{State: "ERROR"}, Experiment: &failed},
		"paused":    {Type: StateChange, Timestamp: 1700000000, Condition: Condition{State: "PAUSED"}, Experiment: &other},
		"custom": {Type: Custom, Timestamp: 1700000000, Experiment: &running,
			Custom: &CustomData{Title: "Loss <exploded>", Description: strings.Repeat("long ", 600), Level: "ERROR"}},
		"threshold": {Type: Threshold, Timestamp: 1700000000, Condition: Condition{Metric: "accuracy", Group: "validation", Above: number(0.9)},
			Experiment: &running, Metric: &MetricValue{Name: "accuracy", Group: "validation", Value: 0.93, Steps: 100}},
		"log_trial": {Type: TaskLog, Timestamp: 1700000000, Condition: Condition{Regex: "CUDA .*memory"},
			TaskLog: &LogLine{TaskID: "7.abc.0", Node: "node-1", Line: "RuntimeError: CUDA out of memory ``` <x>", TaskType: "TRIAL", ExperimentID: 7, TrialID: 12}},
		"log_command": {Type: TaskLog, Timestamp: 1700000000, Condition: Condition{Regex: "fail"},
			TaskLog: &LogLine{TaskID: "0b3c", Node: "node-2", Line: "it failed", TaskType: "COMMAND"}},
		"test": {Type: StateChange, Timestamp: 1700000000, Test: true},
	}
}

// TestBodies compares the bodies of all kinds of events with testdata.
func TestBodies(t *testing.T) {
	for name, e := range events() {
		for _, c := range []struct{ suffix, kind, base string }{{"default", Default, ""}, {"slack", Slack, ""}, {"slack_links", Slack, "https://detent.example.com"}} {
			// Bodies are made from the stored form of an event.
			stored, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var read Event
			if err := json.Unmarshal(stored, &read); err != nil {
				t.Fatal(err)
			}
			body, err := Body(c.kind, "6ba7b810-9dad-41d1-80b4-00c04fd430c8", read, c.base)
			if err != nil {
				t.Fatal(err)
			}
			var shown bytes.Buffer
			encoder := json.NewEncoder(&shown)
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", "  ")
			if err := encoder.Encode(json.RawMessage(body)); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join("testdata", name+"."+c.suffix+".json")
			if *rewrite {
				if err := os.WriteFile(path, shown.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want, shown.Bytes()) {
				t.Errorf("%s: the body is\n%s", path, shown.Bytes())
			}
		}
	}
	if _, err := Body("MAIL", "", Event{}, ""); err == nil {
		t.Error("there is a body for an unknown type")
	}
}

// TestPlacesThatNobodyNamed: a message has the workspace and project that the configuration names, and other receivers always have them.
func TestPlacesThatNobodyNamed(t *testing.T) {
	e := events()["completed"]
	x := *e.Experiment
	x.Unnamed = true
	e.Experiment = &x
	slack, err := Body(Slack, "id", e, "")
	if err != nil || strings.Contains(string(slack), "Workspace") || strings.Contains(string(slack), "Project") || !strings.Contains(string(slack), "Duration") {
		t.Errorf("%s, %v", slack, err)
	}
	other, err := Body(Default, "id", e, "")
	if err != nil || !strings.Contains(string(other), `"workspace":"Vision"`) || strings.Contains(string(other), "unnamed") || !x.Unnamed {
		t.Errorf("%s, %v", other, err)
	}
}

// TestSlackAcceptsTheTexts: Slack rejects longer texts, and more than ten fields.
func TestSlackAcceptsTheTexts(t *testing.T) {
	long := strings.Repeat("<é", 5000)
	x := &Experiment{ID: 1, State: "ERROR", Name: long, Workspace: long, Project: long}
	for _, e := range []Event{
		{Type: Custom, Experiment: x, Custom: &CustomData{Title: long, Description: long, Level: "INFO"}},
		{Type: Threshold, Condition: Condition{Above: number(1)}, Experiment: x, Metric: &MetricValue{Name: long, Group: long}},
		{Type: TaskLog, Condition: Condition{Regex: long}, TaskLog: &LogLine{TaskID: long, Node: long, Line: long, TaskType: "COMMAND"}},
	} {
		m := slackBody(e, "https://detent.example.com")
		blocks := m.Blocks
		for _, a := range m.Attachments {
			blocks = append(blocks, a.Blocks...)
		}
		for _, b := range blocks {
			if n := len([]rune(b.Text.Text)); n > 3000 {
				t.Errorf("%s: a text of %d characters", e.Type, n)
			}
			for _, f := range b.Fields {
				if n := len([]rune(f.Text)); n > 2000 {
					t.Errorf("%s: a field of %d characters", e.Type, n)
				}
			}
			if len(b.Fields) > 10 {
				t.Errorf("%s: %d fields", e.Type, len(b.Fields))
			}
		}
	}
}

func TestSignature(t *testing.T) {
	// printf '1700000000,{"a":1}' | openssl dgst -sha256 -hmac secret
	const want = "637c48ef386ee9f112d0c98ed0d833f54c5f11d0268203bf2a9dc946892fd7b0"
	if got := Signature("secret", 1700000000, []byte(`{"a":1}`)); got != want {
		t.Errorf("the signature is %s, want %s", got, want)
	}
}

// TestForbiddenAddresses: addresses inside of the cluster's networks are forbidden, in every notation.
func TestForbiddenAddresses(t *testing.T) {
	for _, text := range []string{
		"127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "::ffff:10.0.0.1",
		"169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fc00::1", "100.64.0.1", "100.100.100.200", "168.63.129.16",
		"224.0.0.1", "ff02::1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.0.192", "203.0.113.9", "2001:db8::1",
		"64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a00:1::1", "::7f00:1", "fec0::1", "2001::1",
	} {
		if Allowed(netip.MustParseAddr(text), nil) {
			t.Errorf("%s is allowed", text)
		}
	}
	for _, text := range []string{"1.1.1.1", "8.8.8.8", "2606:4700:4700::1111", "172.32.0.1", "64:ff9b::808:808", "::ffff:8.8.8.8"} {
		if !Allowed(netip.MustParseAddr(text), nil) {
			t.Errorf("%s is forbidden", text)
		}
	}
	allow := []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("::1/128")}
	for text, want := range map[string]bool{"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "::1": true, "127.0.0.1": false} {
		if Allowed(netip.MustParseAddr(text), allow) != want {
			t.Errorf("%s with a list: allowed is %v", text, !want)
		}
	}
}

func TestParseURL(t *testing.T) {
	for _, text := range []string{"", "example.com", "/hook", "ftp://example.com", "http://", "https://user:pass@example.com/", "http://127.0.0.1/", "http://[::1]:8080/",
		"http://169.254.169.254/latest/meta-data", "http://[::ffff:10.0.0.1]/", "https://example.com/" + strings.Repeat("a", 2048), "http://exa mple.com/", "javascript:alert(1)"} {
		if err := ParseURL(text, nil); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	for _, text := range []string{"https://example.com", "http://example.com:8080/hook?key=1", "https://hooks.slack.com/services/T/B/x", "http://8.8.8.8/"} {
		if err := ParseURL(text, nil); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	if got := Shown("https://hooks.slack.com/services/T/B/secret?key=1"); got != "https://hooks.slack.com/…" {
		t.Errorf("the address is shown as %s", got)
	}
}
