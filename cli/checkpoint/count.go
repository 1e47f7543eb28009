package checkpoint

import (
	"errors"
	"strconv"
)

// count is the value of a flag that takes a number of 1 or more.
type count int

// String is the number, or nothing where none was given.
func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}

// Type is what help shows for it.
func (c *count) Type() string { return "int" }

// Set takes the number.
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it must be a whole number of 1 or more")
	}
	*c = count(n)
	return nil
}
