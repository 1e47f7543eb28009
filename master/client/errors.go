package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/detent-ml/detent/master/fault"
)

// StatusError is the cause in a fault for a response with an error status.
type StatusError struct {
	Status int
	Method string
	Path   string
}

// Error names the call and the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: HTTP %d", e.Method, e.Path, e.Status)
}

// ConnectError is the cause in a fault for a master that did not answer.
type ConnectError struct {
	Master string
	Err    error
}

// Error names the master.
func (e *ConnectError) Error() string { return e.Master + ": " + e.Err.Error() }

// Unwrap returns the network's error.
func (e *ConnectError) Unwrap() error { return e.Err }

// codes maps HTTP statuses to fault codes. A status that is missing here is Invalid below 500,
// and Internal from 500.
var codes = map[int]fault.Code{
	http.StatusBadRequest:            fault.Invalid,
	http.StatusUnauthorized:          fault.Unauthenticated,
	http.StatusForbidden:             fault.Forbidden,
	http.StatusNotFound:              fault.NotFound,
	http.StatusConflict:              fault.Conflict,
	http.StatusRequestEntityTooLarge: fault.TooLarge,
	http.StatusTooManyRequests:       fault.TooMany,
	http.StatusNotImplemented:        fault.Unimplemented,
	http.StatusBadGateway:            fault.Unavailable,
	http.StatusServiceUnavailable:    fault.Unavailable,
	http.StatusGatewayTimeout:        fault.Unavailable,
}

func codeOf(status int) fault.Code {
	if c, ok := codes[status]; ok {
		return c
	}
	if status < 500 {
		return fault.Invalid
	}
	return fault.Internal
}

// maxErrorBody is the maximum number of bytes that are read of an error's body.
const maxErrorBody = 1 << 20

// refusal converts a response with status 300 or above into a fault with the master's message.
func (c *Client) refusal(req *http.Request, resp *http.Response) error {
	cause := &StatusError{Status: resp.StatusCode, Method: req.Method, Path: req.URL.Path}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		body = nil
	}
	message := messageIn(body)
	if message == "" {
		message = c.strange(cause, resp, body)
	}
	return fault.Wrap(codeOf(resp.StatusCode), cause, "%s", message)
}

// messageIn finds the message in either form that masters use.
func messageIn(body []byte) string {
	var plain struct {
		Message string          `json:"message"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &plain) != nil {
		return ""
	}
	if plain.Message != "" {
		return plain.Message
	}
	var inner struct {
		Error   string `json:"error"`
		Message string `json:"message"`
	}
	if json.Unmarshal(plain.Error, &inner) != nil {
		return ""
	}
	return cmp.Or(inner.Message, inner.Error)
}

// strange is the message for a response that no master sends.
func (c *Client) strange(cause *StatusError, resp *http.Response, body []byte) string {
	if strings.Contains(string(body), "HTTP request to an HTTPS server") {
		return fmt.Sprintf("%s is an HTTPS server; use https://%s", c.base, strings.TrimPrefix(c.base, "http://"))
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" || resp.StatusCode >= 500 {
		return fmt.Sprintf("the master at %s answered %s %s with HTTP %d without a message", c.base, cause.Method, cause.Path, cause.Status)
	}
	return fmt.Sprintf("%s does not seem to be a master: it answered %s %s with HTTP %d", c.base, cause.Method, cause.Path, cause.Status)
}

// lost is the fault for a network error.
func (c *Client) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	cause := &ConnectError{Master: c.base, Err: err}
	if words := tlsTrouble(c.base, err); words != "" {
		return fault.Wrap(fault.Invalid, cause, "%s", words)
	}
	if isDial(err) {
		return fault.Wrap(fault.Unavailable, cause, "no master answers at %s: %s", c.base, plainly(err))
	}
	return fault.Wrap(fault.Unavailable, cause, "the connection to the master at %s was lost: %s", c.base, plainly(err))
}

// isDial reports whether the connection failed before anything was sent.
func isDial(err error) bool {
	if oe, ok := errors.AsType[*net.OpError](err); ok && oe.Op == "dial" {
		return true
	}
	var de *net.DNSError
	return errors.As(err, &de)
}

// plainly returns the innermost reason, without addresses and system calls.
func plainly(err error) string {
	if de, ok := errors.AsType[*net.DNSError](err); ok && de.IsNotFound {
		return "no such host: " + de.Name
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "the connection was closed during a response"
	}
	return fault.Root(err).Error()
}

func tlsTrouble(base string, err error) string {
	const remedy = "; set DET_MASTER_CERT_FILE to the file of its certificate, or to noverify to disable the check"
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Sprintf("%s is not an HTTPS server; use http://%s", base, strings.TrimPrefix(base, "https://"))
	case errors.As(err, &unknown):
		return fmt.Sprintf("this machine does not trust the issuer of the certificate of %s%s", base, remedy)
	case errors.As(err, &host):
		return fmt.Sprintf("the certificate of %s is for another name (%s); set DET_MASTER_CERT_NAME to the name to expect", base, plainly(err))
	case errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is invalid: %s%s", base, plainly(err), remedy)
	}
	return ""
}
