package server

import (
	"net"
	"strings"
	"testing"
)

func TestWherePagesOfTasksAre(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	for file, want := range map[string]string{
		"tasks_listen: nowhere":             "tasks_listen: expected host:port",
		"tasks_listen: 127.0.0.1:8080":      "must differ from listen",
		"tasks_url: http://127.0.0.1:8080/": "tasks_url: must differ from public_url",
		"tasks_url: tasks":                  "tasks_url: expected an address",
		"tasks_domain: http://x":            "tasks_domain: expected a domain",
		"tasks_domain: .x":                  "tasks_domain: expected a domain",
		"tasks_listen: 127.0.0.1:8081\ntasks_domain: tasks.example.com:8443\ntasks_url: https://tasks.example.com": "",
	} {
		_, err := load(t, file, env, nil)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", file, err)
		}
	}
	at := &net.TCPAddr{IP: net.IPv4zero, Port: 8081}
	for public, want := range map[string]string{
		"http://127.0.0.1:8080": "http://127.0.0.1:8081", "http://[::1]:8080": "http://[::1]:8081", "http://master": "http://master:8081",
		"https://master": "", // only the operators know
	} {
		if got := beside(public, at); got != want {
			t.Errorf("beside %s: %q, want %q", public, got, want)
		}
	}
}
