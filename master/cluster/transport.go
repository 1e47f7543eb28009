package cluster

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// authTransport is the HTTP transport of Nomad's client: it adds the token to each request and
// limits the size of each answer.
type authTransport struct {
	next  http.RoundTripper
	token tokenSource
}

// indexWanted is the key of a context value, a *uint64, that receives the Nomad index of
// an answer: Nomad's client drops the headers of error answers.
type indexWanted struct{}

// RoundTrip is for net/http.
func (c *authTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	token, err := c.token.get()
	if err != nil {
		return nil, err
	}
	if token != "" && r.Context().Value(withoutToken{}) == nil {
		r = r.Clone(r.Context())
		r.Header.Set("X-Nomad-Token", token)
	}
	res, err := c.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if index, ok := r.Context().Value(indexWanted{}).(*uint64); ok {
		*index, _ = strconv.ParseUint(res.Header.Get("X-Nomad-Index"), 10, 64)
	}
	if !strings.HasSuffix(r.URL.Path, streamPath) { // the event stream never ends; its reader limits each line
		res.Body = &bounded{ReadCloser: res.Body, left: maxAnswer, what: r.URL.Path}
	}
	return res, nil
}

// bounded is a body whose Read fails beyond a number of bytes.
type bounded struct {
	io.ReadCloser
	left int64  // bytes
	what string // path of the request, for the error
}

// Read is for io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, fmt.Errorf("nomad's answer to %s is longer than %d MiB", b.what, int64(maxAnswer)>>20)
	}
	return n, err
}

// tokenSource is a fixed token, or a file whose token is renewed.
type tokenSource struct {
	fixed, file string
	now         func() time.Time

	mu     sync.Mutex
	read   time.Time // when the file was last read
	latest string    // the token in the file then
}

// tokenAge is how long a token is used before its file is read again.
const tokenAge = time.Second

func (s *tokenSource) get() (string, error) {
	if s.file == "" {
		return s.fixed, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if s.latest != "" && now.Sub(s.read) < tokenAge {
		return s.latest, nil
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return "", fmt.Errorf("nomad's token: %w", err)
	}
	s.latest, s.read = strings.TrimSpace(string(text)), now
	return s.latest, nil
}
