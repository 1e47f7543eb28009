package headers

import (
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"testing"
)

func TestStripCookies(t *testing.T) {
	for line, want := range map[string]string{
		"":                                     "",
		"auth=x":                               "",
		"a=1; auth=x; b=2":                     "a=1; b=2",
		"a=1;auth=x;b=2":                       "a=1; b=2",
		"det-task-1=x; _xsrf=2|a|b":            "_xsrf=2|a|b",
		`Auth=1; DET-TASK-x=2; "auth"=3; c="q`: `c="q`,
		"authority=1":                          "authority=1",
		"det-sign-in=1; a=2":                   "a=2",
		"__Host-Http-det-sign-in=1; a=2":       "a=2",
		" auth =x; y":                          "y",
		"auth":                                 "",
	} {
		if got := stripCookies(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func TestIsOurs(t *testing.T) {
	for field, want := range map[string]bool{
		"Authorization": true, "authorization": true, "X-Detent-Gateway": true, "x_detent_gateway": true, "Grpc-Metadata-X-Allocation-Token": true,
		"X-Forwarded-For": true, "Forwarded": true, "X-Scheme": true, "Cookie": false, "X-Xsrftoken": false, "Content-Type": false, "X-Detention": false,
	} {
		if isOurs(field) != want {
			t.Errorf("%s: not %v", field, want)
		}
	}
}

// TestFinalAnswers: informational answers of a program do not reach the client.
func TestFinalAnswers(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w = FinalAnswers{ResponseWriter: w}
		w.Header().Set("Set-Cookie", "a=b")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Set-Cookie")
		w.WriteHeader(http.StatusTeapot)
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}))
	defer s.Close()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		t.Errorf("the client gets %d with %v", code, h)
		return nil
	}})
	req, err := http.NewRequestWithContext(ctx, "GET", s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusTeapot || resp.Header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", resp.StatusCode, resp.Header)
	}
}
