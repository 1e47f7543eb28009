package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/nomad-autoscaler/sdk"
)

func TestParseSeries(t *testing.T) {
	for text, want := range map[string]string{
		`up`:                  "up",
		` a{b="c"} `:          "a b=c",
		`a{b="c", d="x\"}y"}`: `a b=c d=x"}y`,
		`a{b="c",}`:           "a b=c",
		`a{}`:                 "a",
	} {
		s, err := parseSeries(text)
		got := s.name
		for _, label := range []string{"b", "d"} {
			if v := s.labels[label]; v != "" {
				got += " " + label + "=" + v
			}
		}
		if err != nil || got != want {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "{}", "a{", "a{b}", "a{b=c}", `a{b="c"`, `a{b="c"}}`, `a{b="c"} + 1`, "sum(a)", strings.Repeat("a", 2000)} {
		if s, err := parseSeries(text); err == nil {
			t.Errorf("%q was read as %+v", text, s)
		}
	}
}

// TestQuery: the master that leads answers, whichever it is.
func TestQuery(t *testing.T) {
	serve := func(text string, code int) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" {
				t.Errorf("asked for %s", r.URL)
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(text))
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	follows := serve("det_this_master_leads 0\n", 200)
	leads := serve("# HELP x\ndet_this_master_leads 1\ndet_pool_nodes_wanted{pool=\"gpu\",class=\"a\"} 3\ndet_pool_nodes_wanted{pool=\"gpu\",class=\"\"} 4\n", 200)
	broken := serve("", 503)
	for query, want := range map[string]float64{`det_pool_nodes_wanted{class="a",pool="gpu"}`: 3, `det_pool_nodes_wanted{pool="gpu"}`: 4} {
		g := &gauges{}
		if err := g.SetConfig(map[string]string{"address": follows + "," + broken + ", " + leads + "/"}); err != nil {
			t.Fatal(err)
		}
		if got, err := g.Query(query, sdk.TimeRange{}); err != nil || len(got) != 1 || got[0].Value != want {
			t.Errorf("%s: %v, %v", query, got, err)
		}
	}
	for addresses, want := range map[string]string{follows: "does not lead", broken: "503", leads: "has no such gauge", "http://127.0.0.1:1": "refused"} {
		g := &gauges{}
		if err := g.SetConfig(map[string]string{"address": addresses}); err != nil {
			t.Fatal(err)
		}
		if got, err := g.Query(`det_pool_nodes_wanted{pool="cpu"}`, sdk.TimeRange{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", addresses, got, err)
		}
	}
	for _, address := range []string{"", "localhost:8080", "ftp://x", "http://a,", strings.Repeat("http://a,", 16) + "http://a"} {
		if err := (&gauges{}).SetConfig(map[string]string{"address": address}); err == nil || !strings.Contains(err.Error(), "address") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
