package checkpoint

import (
	"errors"
	"strconv"
)

// count is the value of a flag that is a whole number of at least 1.
type count int

// String formats the number; "" if it is not set.
func (c *count) String() string {
	if *c == 0 {
		return ""
	}
	return strconv.Itoa(int(*c))
}

// Type is the type in the help.
func (c *count) Type() string { return "int" }

// Set parses the number.
func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		return errors.New("it must be a whole number of 1 or more")
	}
	*c = count(n)
	return nil
}
