// Package deps keeps requirements in go.mod until packages use them.
package deps

import (
	_ "charm.land/huh/v2"
	_ "github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	_ "github.com/anthropics/anthropic-sdk-go"
	_ "gopkg.in/dnaeon/go-vcr.v4/pkg/recorder"
)
