package rest

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/gofiber/fiber/v2"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Set sets a header of the answer.
func (c *Call) Set(header, value string) { c.ctx.Set(header, value) }

// Unset removes a header of the answer; all cookies with Set-Cookie.
func (c *Call) Unset(header string) { c.ctx.Response().Header.Del(header) }

// SetCookie adds a cookie to the answer.
func (c *Call) SetCookie(k *http.Cookie) {
	site := fiber.CookieSameSiteLaxMode
	if k.SameSite == http.SameSiteStrictMode {
		site = fiber.CookieSameSiteStrictMode
	}
	c.ctx.Cookie(&fiber.Cookie{Name: k.Name, Value: k.Value, Path: k.Path, HTTPOnly: k.HttpOnly, SameSite: site, Secure: k.Secure, MaxAge: k.MaxAge, Expires: k.Expires})
}

// Status sets the status of the answer.
func (c *Call) Status(code int) { c.ctx.Status(code) }

// SendStatus sends an answer with nothing but a status.
func (c *Call) SendStatus(code int) error { return c.ctx.SendStatus(code) }

// Redirect sends the client to another address.
func (c *Call) Redirect(address string, status int) error { return c.ctx.Redirect(address, status) }

// SendBody sends an answer that is small.
func (c *Call) SendBody(b []byte) error { return c.ctx.Send(b) }

// Write adds to the answer, which is small.
func (c *Call) Write(b []byte) (int, error) { return c.ctx.Write(b) }

// Answered is the status of the answer, and its body; nil if it is sent while it is made.
func (c *Call) Answered() (status int, body []byte) {
	if resp := c.ctx.Response(); !resp.IsBodyStream() {
		body = resp.Body()
	}
	return c.ctx.Response().StatusCode(), body
}

// Send sends a message that is small.
func (c *Call) Send(message any) error {
	b, err := c.Encode(message)
	if err != nil {
		return err
	}
	return c.ctx.Send(b)
}

// Encode encodes a message as JSON, and names its type.
func (c *Call) Encode(message any) ([]byte, error) {
	b, err := v1.Marshal(message)
	if err != nil {
		return nil, err
	}
	if c.ctx.Context().QueryArgs().Has("pretty") {
		var buf bytes.Buffer
		if indentedSize(b) <= maxPretty*len(b) && json.Indent(&buf, b, "", "  ") == nil {
			b = buf.Bytes()
		}
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return b, nil
}

// maxPretty is how many times as long as an answer its indented form may be. Lists within lists within
// lists would become thousands of times as long; such an answer stays as it is.
const maxPretty = 8

// indentedSize is about the size of JSON that json.Indent writes with two spaces.
func indentedSize(b []byte) int {
	size, depth, text := len(b), 0, false
	for i := 0; i < len(b); i++ {
		switch ch := b[i]; {
		case text && ch == '\\':
			i++
		case ch == '"':
			text = !text
		case text:
		case ch == '{' || ch == '[':
			depth++
			size += 1 + 2*depth
		case ch == '}' || ch == ']':
			depth--
			size += 1 + 2*depth
		case ch == ',':
			size += 1 + 2*depth
		case ch == ':':
			size++
		}
	}
	return size
}
