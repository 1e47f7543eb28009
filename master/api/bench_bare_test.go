package api

import (
	"net"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
)

// target is a server with one route, which hands bodies to a function.
type target struct {
	url  string
	stop func()
}

func bareServer(b testing.TB, take func(body []byte) error) target {
	b.Helper()
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Post("/", func(c *fiber.Ctx) error {
		if err := take(c.Body()); err != nil {
			return err
		}
		return c.SendString("{}")
	})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- app.Listener(lis) }()
	return target{"http://" + lis.Addr().String(), func() {
		if err := app.ShutdownWithTimeout(10 * time.Second); err != nil {
			b.Error(err)
		}
		<-served
	}}
}
