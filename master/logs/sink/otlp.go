package sink

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/detent-ml/detent/master/logs/sink/entry"
)

const (
	maxAnswer  = 64 << 10
	maxHeaders = 16 << 10 // bytes of the file
	maxWhy     = 200      // characters of what a receiver says
)

// otlp sends lines as OTLP's JSON over HTTP.
type otlp struct {
	Target
	client *http.Client
}

func newOTLP(t Target, secure *tls.Config) (*otlp, error) {
	o := &otlp{Target: t, client: &http.Client{
		Timeout:       sendWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is not for others
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: secure, ForceAttemptHTTP2: true, MaxIdleConns: 1,
			MaxResponseHeaderBytes: maxAnswer},
	}}
	_, err := o.headers()
	return o, err
}

func (o *otlp) close() { o.client.CloseIdleConnections() }

// headers are those that the settings add.
func (o *otlp) headers() (http.Header, error) {
	h := http.Header{}
	token := o.Token
	if o.TokenFile != "" {
		text, err := readSmall(o.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("token_file: %w", err)
		}
		token = strings.TrimSpace(text)
	}
	if token != "" {
		h.Set("Authorization", "Bearer "+token)
	}
	if o.HeadersFile != "" {
		text, err := readSmall(o.HeadersFile)
		if err != nil {
			return nil, fmt.Errorf("headers_file: %w", err)
		}
		number := 0
		for line := range strings.Lines(text) {
			number++
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			name, value, found := strings.Cut(line, ":")
			if !found || !isName(name) { // the line may be a secret
				return nil, fmt.Errorf("headers_file: %s:%d: expected Name: value", o.HeadersFile, number)
			}
			h.Set(name, strings.TrimSpace(value))
		}
	}
	for name, values := range h {
		if strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("the header %s has characters that no header may have", name)
		}
	}
	return h, nil
}

// isName reports whether a text can be the name of a header.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.", r)
	})
}

// readSmall reads a file of settings.
func readSmall(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHeaders+1))
	if err == nil && len(text) > maxHeaders {
		err = fmt.Errorf("%s is longer than %d bytes", path, maxHeaders)
	}
	return string(text), err
}

func (o *otlp) send(ctx context.Context, cluster string, lines []entry.Entry) (rejected int64, why string, err error) {
	body, err := entry.OTLP(cluster, lines)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.Address, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if req.Header, err = o.headers(); err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "detent-log-sink")
	resp, err := o.client.Do(req)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) {
			err = of.Err // without the address, whose query may have a key
		}
		return 0, "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
		if err != nil {
			return 0, "", nil // it has taken the lines
		}
		rejected, why = entry.Rejected(answer)
		return rejected, clip(why), nil
	case code == http.StatusBadRequest || code == http.StatusRequestEntityTooLarge:
		return 0, "", fmt.Errorf("%w: it answers %d: %s", errNotTaken, code, clip(string(answer)))
	default:
		return 0, "", fmt.Errorf("it answers %d: %s", code, clip(string(answer)))
	}
}

// clip quotes the beginning of what a receiver says.
func clip(s string) string { return fmt.Sprintf("%.*q", maxWhy, s) }
