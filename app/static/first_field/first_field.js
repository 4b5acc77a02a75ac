// Puts the focus into the first field of the popover that has just opened, so that one can type at once.

export default function () {
  document.querySelector('[data-testid="stPopoverBody"] input')?.focus();
}
