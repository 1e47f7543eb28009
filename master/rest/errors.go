package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
)

// statuses maps a fault's code to the HTTP status, and to the gRPC code that Determined's
// clients read from the body.
var statuses = map[fault.Code]struct{ http, grpc int }{
	fault.Internal:        {500, 13},
	fault.Invalid:         {400, 3},
	fault.Unauthenticated: {401, 16},
	fault.Forbidden:       {403, 7},
	fault.NotFound:        {404, 5},
	fault.Conflict:        {409, 6},
	fault.TooLarge:        {413, 8},
	fault.TooMany:         {429, 8},
	fault.Unavailable:     {503, 14},
	fault.Unimplemented:   {501, 12},
}

// ErrorBody has both forms that clients read: that of Determined's gateway, and the plain
// message of its other routes.
type ErrorBody struct {
	Error struct {
		Code   int    `json:"code"`
		Reason string `json:"reason"`
		Error  string `json:"error"`
	} `json:"error"`
	Message string `json:"message"`
}

// writeError is the only code that writes an error.
func (r *Router) writeError(c *fiber.Ctx, err error) error {
	code, message := read(err)
	var fe *fiber.Error
	switch {
	case errors.As(err, &fe):
	case errors.Is(err, context.Canceled) && r.stopping.Err() != nil:
		code, message = fault.Unavailable, "the master is stopping; try again"
	case code == fault.Internal:
		r.log.Error("request failed", "method", c.Method(), "path", c.Path(), "error", err)
		message = "Internal error; the master's log has the details"
	case code == fault.Unavailable:
		r.log.Warn("request rejected", "method", c.Method(), "path", c.Path(), "error", err, "cause", errors.Unwrap(err))
	}
	st := statuses[code]
	if code == fault.Unavailable || code == fault.TooMany {
		c.Set(fiber.HeaderRetryAfter, "1")
	}
	if d := r.dialectOf(c.Path()); d != nil {
		return d.Error(r.callOf(c), st.http, err, message)
	}
	var body ErrorBody
	body.Error.Code, body.Error.Reason, body.Error.Error, body.Message = st.grpc, code.String(), message, message
	b, jerr := json.Marshal(body)
	if jerr != nil {
		return jerr
	}
	c.Status(st.http).Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(b)
}

// StatusOf is the HTTP status of an error, and its code.
func StatusOf(err error) (status int, code fault.Code) {
	code, _ = read(err)
	return statuses[code].http, code
}

// read is the code of an error, and its text.
func read(err error) (fault.Code, string) {
	if fe, ok := errors.AsType[*fiber.Error](err); ok {
		return ofFiber(fe)
	}
	return fault.CodeOf(err), err.Error()
}

func ofFiber(fe *fiber.Error) (fault.Code, string) {
	switch fe.Code {
	case fiber.StatusNotFound, fiber.StatusMethodNotAllowed:
		return fault.NotFound, fe.Message
	case fiber.StatusRequestEntityTooLarge:
		return fault.TooLarge, "the request is over the limit"
	}
	if fe.Code == fiber.StatusRequestHeaderFieldsTooLarge {
		return fault.TooLarge, fmt.Sprintf("the address and the headers of the request are over the limit of %d KB together", maxHead>>10)
	}
	if fe.Code < 500 {
		return fault.Invalid, strings.ToLower(fe.Message)
	}
	return fault.Internal, fe.Message
}
