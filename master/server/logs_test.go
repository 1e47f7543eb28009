package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLogSinks: the keys reach what sends the lines, wrong ones are named with their places, and the configuration that the API
// shows has no secret.
func TestLogSinks(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("X-A: b"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := configured(t, `database: postgres://x
cluster_name: lab
log_sinks:
  - {name: otel, address: 'https://otel:4318/v1/logs', token: s3cret, headers_file: `+token+`, lines: [masters]}
  - {name: files, address: 'https://otel:4318/v1/logs', token_file: `+token+`}
  - {name: query, address: 'https://otel/v1/logs?api_key=s3cret', lines: [tasks]}
  - {name: old, address: 'udp://logs:514', lines: [tasks]}
`)
	list := m.cfg.sinks()
	if got := fmt.Sprintf("%+v", list); got != fmt.Sprintf("[{Name:otel Cluster:lab Tasks:false Masters:true Target:{Address:https://otel:4318/v1/logs Token:s3cret TokenFile: HeadersFile:%[1]s CAFile: CertFile: KeyFile:} Timing:{Look:0s LookAll:0s MinDelay:0s MaxDelay:0s}} "+
		"{Name:files Cluster:lab Tasks:true Masters:true Target:{Address:https://otel:4318/v1/logs Token: TokenFile:%[1]s HeadersFile: CAFile: CertFile: KeyFile:} Timing:{Look:0s LookAll:0s MinDelay:0s MaxDelay:0s}} "+
		"{Name:query Cluster:lab Tasks:true Masters:false Target:{Address:https://otel/v1/logs?api_key=s3cret Token: TokenFile: HeadersFile: CAFile: CertFile: KeyFile:} Timing:{Look:0s LookAll:0s MinDelay:0s MaxDelay:0s}} "+
		"{Name:old Cluster:lab Tasks:true Masters:false Target:{Address:udp://logs:514 Token: TokenFile: HeadersFile: CAFile: CertFile: KeyFile:} Timing:{Look:0s LookAll:0s MinDelay:0s MaxDelay:0s}}]", token) {
		t.Error(got)
	}
	shown, err := json.Marshal(m.cfg.shown()["log_sinks"])
	if err != nil || strings.Contains(string(shown), "s3cret") || !strings.Contains(string(shown), hidden) {
		t.Errorf("the API shows %s, %v", shown, err)
	}
	path := filepath.Join(t.TempDir(), "master.yaml")
	text := `log_sinks:
  - {name: a b, address: 'tcp://logs:601'}
  - {name: a, address: 'tcp://logs', lines: [all]}
  - {name: a, address: 'http://otel/', token_file: /nonesuch}
  - {name: b, address: 'https://otel/', ca_file: /nonesuch, key_file: /nonesuch}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = CheckConfig(path, nil, nil)
	for _, want := range []string{"log_sinks[0].name: expected a unique name", "log_sinks[1].address: expected tcp://host:port", `log_sinks[1].lines: expected one of tasks, masters, found "all"`,
		"log_sinks[2].name: expected a unique name", "log_sinks[2].token_file: open /nonesuch", "log_sinks[3].ca_file: open /nonesuch"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
	if cfg, err := LoadConfig("", []string{"DETENT_DATABASE=postgres://x", "DETENT_LOG_SINKS=[{name: otel, address: 'https://otel/', token: s3cret}]"}, nil); err != nil || len(cfg.LogSinks) != 1 || cfg.LogSinks[0].Token != "s3cret" {
		t.Errorf("from the environment: %+v, %v", cfg.LogSinks, err)
	}
}
