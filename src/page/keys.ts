import { useLayoutEffect, useRef } from 'preact/hooks'

/** What each key does, by the name that an event gives it. */
export type Keys = Readonly<Record<string, () => void>>

/** The deepest that knows a key gets it. */
const layers: { readonly depth: number; readonly keys: { current: Keys } }[] = []

/** These keys hold while the component is there. `depth`: 0 for the page, 1 for a view, 2 and 3 for something in a view. */
export function useKeys(depth: number, keys: Keys): void {
  const ref = useRef(keys)
  ref.current = keys
  useLayoutEffect(() => {
    const layer = { depth, keys: ref }
    layers.push(layer)
    return () => void layers.splice(layers.indexOf(layer), 1)
  }, [depth])
}

const HUSH_MS = 500
const { classList } = document.body
let hushed: ReturnType<typeof setTimeout> | undefined

/** No letter counts until half a second after the last one: what is typed on once a field has closed was meant for the field. */
export function hush(): void {
  clearTimeout(hushed)
  classList.add('hushed')
  hushed = setTimeout(() => classList.remove('hushed'), HUSH_MS)
}

window.addEventListener('keydown', event => {
  const { key, target } = event
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return
  const isTyped = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement
  if (isTyped || target instanceof HTMLSelectElement) {
    if (key === 'Escape') target.blur()
    return
  }
  const isHushed = key.length === 1 && classList.contains('hushed')
  if (isHushed) hush()
  const sorted = [...layers].sort((one, other) => other.depth - one.depth)
  const found = sorted.find(({ keys }) => Object.hasOwn(keys.current, key))
  if (found === undefined && !isHushed) return
  event.preventDefault()
  if (!isHushed && !event.repeat) found?.keys.current[key]?.()
})
