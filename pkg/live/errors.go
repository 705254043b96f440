package live

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Error is what went wrong between here and the server, with the words that
// kubectl has for it.
type Error struct {
	text string
	err  error
}

func (e *Error) Error() string { return e.text }

// Unwrap is the error underneath.
func (e *Error) Unwrap() error { return e.err }

// Verbatim says that the text is printed as it is, without "error: " before it.
func (e *Error) Verbatim() {}

// Explain words an error from a server, or from the way to it, as kubectl does;
// other errors stay as they are.
func Explain(err error) error { return explain(err) }

// explain words an error as kubectl does (pkg/cmd/util StandardErrorMessage).
// A failed validation stays as it is: its causes are told one by one.
func explain(err error) error {
	var status apierrors.APIStatus
	var address *url.Error
	var worded *Error
	var several utilerrors.Aggregate
	switch {
	case err == nil, errors.As(err, &worded):
		return err
	case errors.As(err, &several) && len(several.Errors()) > 1:
		return &Error{eachText(several.Errors()), err}
	case apierrors.IsInvalid(err):
		return err
	case errors.As(err, &status):
		return &Error{serverText(status.Status()), err}
	case errors.As(err, &address):
		return &Error{connectionText(address), err}
	}
	return err
}

// eachText has a line for each of several errors.
func eachText(errs []error) string {
	var lines []string
	for _, err := range errs {
		var worded *Error
		if err = explain(err); !errors.As(err, &worded) {
			err = fmt.Errorf("error: %w", err)
		}
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

func serverText(s metav1.Status) string {
	switch {
	case s.Reason == metav1.StatusReasonUnauthorized:
		return fmt.Sprintf("error: You must be logged in to the server (%s)", s.Message)
	case s.Reason != "":
		return fmt.Sprintf("Error from server (%s): %s", s.Reason, s.Message)
	}
	return "Error from server: " + s.Message
}

func connectionText(err *url.Error) string {
	if strings.Contains(err.Err.Error(), "connection refused") || utilnet.IsConnectionRefused(err) {
		host := err.URL
		if server, bad := url.Parse(err.URL); bad == nil {
			host = server.Host
		}
		return fmt.Sprintf("The connection to the server %s was refused - did you specify the right host or port?", host)
	}
	return fmt.Sprintf("Unable to connect to the server: %v", err.Err)
}

// NotAllowed reports an authorizer's refusal to let the user do this at all;
// admission refuses with the same code, for its own reasons.
func NotAllowed(err error, verb string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "cannot "+verb+" resource ")
}
