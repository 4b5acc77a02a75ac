/** The script that Streamlit runs. It loads the modules below their digest and mounts the timeline. */

/** @type {import("../static/types.js").Component} */
export default async function component(mounted) {
  const module = new URL(`../../../${mounted.data.module}`, import.meta.url);
  const { mount } = await import(module.href);
  return mount(mounted);
}
