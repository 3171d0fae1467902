import { render } from 'preact'
render(<h1>Hi</h1>, document.body)
