package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Address is where the metadata services of all clouds are. The address is in place of a name, which something else than
// the cloud could resolve.
const Address = "http://169.254.169.254"

const (
	answerWithin = 10 * time.Second
	maxHeader    = 16 << 10
	maxWord      = 4 << 10 // bytes of answers that are a word or a small object
)

// service sends requests to a metadata service.
type service struct {
	address string // http://host:port
	client  *http.Client
}

func newService(address string) service {
	transport := &http.Transport{ // without a proxy, whatever the environment says: a proxy is not this machine
		MaxResponseHeaderBytes: maxHeader,
		MaxConnsPerHost:        4,
		MaxIdleConns:           2,
		IdleConnTimeout:        2 * time.Minute,
		DisableCompression:     true, // an answer cannot grow when it is unpacked
	}
	return service{address: strings.TrimSuffix(address, "/"), client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// An answer of a metadata service.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// request is what differs between requests.
type request struct {
	method, path string
	header       map[string]string
	within       time.Duration // 0 for answerWithin
	most         int64         // bytes of the body; 0 for maxWord
}

// ask sends a request and reads the whole answer.
func (s service) ask(ctx context.Context, r request) (answer, error) {
	if r.within == 0 {
		r.within = answerWithin
	}
	if r.most == 0 {
		r.most = maxWord
	}
	ctx, cancel := context.WithTimeout(ctx, r.within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, s.address+r.path, nil)
	if err != nil {
		return answer{}, err
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("it does not answer %s within %s", r.path, r.within)
		}
		return answer{}, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, r.most+1))
	if err != nil {
		return answer{}, fmt.Errorf("%s: %w", r.path, err)
	}
	if int64(len(body)) > r.most {
		return answer{}, fmt.Errorf("%s: its answer is longer than %d bytes", r.path, r.most)
	}
	return answer{resp.StatusCode, resp.Header, body}, nil
}

// unexpected is the error for an answer that is none.
func unexpected(path string, a answer) error {
	const most = 100
	return fmt.Errorf("%s: it answers %d with %.*q", path, a.status, most, a.body)
}
