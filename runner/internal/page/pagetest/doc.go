// Package pagetest opens pages in a browser, for tests.
package pagetest
